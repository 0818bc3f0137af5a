"""Running what is due."""


async def run(queue, until=float("inf")):
    """Results of all events up to `until`, in order; an event may push others."""
    results = []
    while len(queue):
        event = queue.pop()
        if event.time > until:
            queue.push(event)
            break
        results.append(event.action())
    return results
