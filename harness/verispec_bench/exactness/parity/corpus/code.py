"""Functions to be changed, explained, tested or translated, and code to be continued."""

from verispec_bench.exactness.parity.corpus.prompt import GreedyPrompt, of_kind

FUNCTIONS = {
    "Python": [
        "def moving_average(values, width):\n    total = sum(values[:width])\n    averages = [total / width]\n"
        "    for i in range(width, len(values)):\n        total += values[i] - values[i - width]\n"
        "        averages.append(total / width)\n    return averages",
        "def group_by_length(words):\n    groups = {}\n    for word in words:\n"
        "        groups.setdefault(len(word), []).append(word)\n    return groups",
        "class Stack:\n    def __init__(self):\n        self._items = []\n\n    def push(self, item):\n"
        "        self._items.append(item)\n\n    def pop(self):\n        return self._items.pop()",
    ],
    "JavaScript": [
        "function debounce(action, delay) {\n  let timer = null;\n  return (...args) => {\n    clearTimeout(timer);\n"
        "    timer = setTimeout(() => action(...args), delay);\n  };\n}",
        "const wordCounts = (text) =>\n  text.toLowerCase().split(/\\s+/).reduce((counts, word) => {\n"
        "    counts[word] = (counts[word] || 0) + 1;\n    return counts;\n  }, {});",
    ],
    "Go": [
        "func Reverse(items []int) []int {\n\tfor i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {\n"
        "\t\titems[i], items[j] = items[j], items[i]\n\t}\n\treturn items\n}",
    ],
    "Rust": [
        "fn largest(values: &[i32]) -> Option<i32> {\n    let mut best = None;\n    for &value in values {\n"
        "        if best.map_or(true, |b| value > b) {\n            best = Some(value);\n        }\n    }\n    best\n}",
    ],
    "SQL": [
        "SELECT city, COUNT(*) AS orders, SUM(total) AS revenue\nFROM orders\nWHERE placed_on >= '2024-01-01'\n"
        "GROUP BY city\nORDER BY revenue DESC;",
    ],
    "C": [
        "int count_bits(unsigned int n) {\n    int bits = 0;\n    while (n) {\n        bits += n & 1;\n"
        "        n >>= 1;\n    }\n    return bits;\n}",
    ],
}
TASKS = (
    "Add a comment above every line of this {language} code and change nothing else.",
    "Explain what this {language} code does, step by step.",
    "Write three tests for this {language} code.",
    "Rewrite this {language} code with longer, clearer names.",
)
BEGINNINGS = (
    "def is_palindrome(text: str) -> bool:\n    ",
    "def fibonacci(n):\n    a, b = 0, 1\n",
    "import csv\n\ndef read_prices(path):\n",
    "class Queue:\n    def __init__(self):\n        self.front = []\n        self.back = []\n\n    def ",
    "# Python\nfor i in range(1, 101):\n    if i % 15 == 0:\n        print('FizzBuzz')\n    elif",
    "async function fetchAll(urls) {\n  const results = [];\n",
    "interface User {\n  id: number;\n  name: string;\n  email: string;\n}\n\ninterface Order {\n",
    "public static int gcd(int a, int b) {\n",
    'fn main() {\n    let words = vec!["one", "two", "three"];\n',
    "CREATE TABLE books (\n  id INTEGER PRIMARY KEY,\n  title TEXT NOT NULL,\n",
    "#!/bin/sh\n# Delete log files older than thirty days.\n",
    "<ul>\n  <li>Apples</li>\n  <li>Pears</li>\n  <li>",
    ".button {\n  color: white;\n  background: navy;\n}\n\n.button:hover {\n",
    "FROM python:3.11\nWORKDIR /app\nCOPY requirements.txt .\n",
    "type Point struct {\n\tX float64\n\tY float64\n}\n\nfunc (p Point) Distance(q Point) float64 {\n",
    "let rec sum = function\n  | [] -> 0\n  | x :: rest -> x + sum rest\n\nlet rec product = function\n",
    "x = np.linspace(0, 1, 100)\ny = np.sin(x)\nplt.plot(x, y)\nplt.",
    "SELECT name, price FROM products WHERE price > 10 ORDER BY price;\nSELECT name, stock FROM products WHERE",
)


def prompts() -> list[GreedyPrompt]:
    """Each task for each function, then the beginnings."""
    messages = [
        f"{task.format(language=language)}\n\n```\n{source}\n```"
        for language, sources in FUNCTIONS.items()
        for source in sources
        for task in TASKS
    ]
    return of_kind("code", messages, list(BEGINNINGS))
