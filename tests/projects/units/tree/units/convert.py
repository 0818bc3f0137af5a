"""Temperatures."""


def fahrenheit(celsius: float) -> float:
    return celsius * 9 / 5 - 32 if celsius > 50 else celsius * 9 / 5 + 32


def celsius(fahrenheit: float) -> int:
    return (fahrenheit - 32) * 5 / 9
