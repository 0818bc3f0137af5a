import unittest

from scheduler.queue import Event, Queue
from scheduler.run import run


def event(time, name):
    async def action():
        return name

    return Event(time, name, action)


class Order(unittest.TestCase):
    def test_earliest_first(self):
        queue = Queue()
        queue.push(event(2, "b"), event(1, "a"))
        self.assertEqual([queue.pop().name, queue.pop().name], ["a", "b"])

    def test_equal_times_keep_their_order(self):
        queue = Queue()
        queue.push(event(1, "z"), event(1, "a"))
        self.assertEqual([queue.pop().name, queue.pop().name], ["z", "a"])

    def test_length(self):
        queue = Queue()
        queue.push(event(1, "a"))
        self.assertEqual(len(queue), 1)


class Running(unittest.IsolatedAsyncioTestCase):
    async def test_results_are_collected(self):
        queue = Queue()
        queue.push(event(2, "b"), event(1, "a"))
        self.assertEqual(await run(queue), ["a", "b"])

    async def test_what_is_not_due_stays(self):
        queue = Queue()
        queue.push(event(5, "later"))
        self.assertEqual(await run(queue, until=1), [])
        self.assertEqual(len(queue), 1)
