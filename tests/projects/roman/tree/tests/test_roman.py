import unittest

from roman.numerals import from_number, to_number


class ToNumber(unittest.TestCase):
    def test_addition(self):
        self.assertEqual(to_number("MDCLXVI"), 1666)

    def test_subtraction(self):
        for numeral, number in (("IV", 4), ("XC", 90), ("MCMXCIV", 1994)):
            self.assertEqual(to_number(numeral), number)

    def test_other_letters(self):
        with self.assertRaises(KeyError):
            to_number("ABC")


class FromNumber(unittest.TestCase):
    def setUp(self):
        self.known = {1: "I", 9: "IX", 444: "CDXLIV", 2024: "MMXXIV"}

    def test_known(self):
        self.assertEqual({number: from_number(number) for number in self.known}, self.known)

    def test_out_of_range(self):
        for number in (0, 4000, -1):
            with self.assertRaises(ValueError):
                from_number(number)

    def test_there_and_back(self):
        self.assertEqual(to_number(from_number(3888)), 3888)
