import os

NAME = 'other'
