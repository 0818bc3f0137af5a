"""Prices in cents."""


def price(net, percent):
    return net + vat(net, percent)


def vat(net, percent):
    return net * percent // 100
