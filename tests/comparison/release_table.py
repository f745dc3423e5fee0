"""Turns answers of releases into the table of OpenVINO releases."""

import collections

import numpy as np

from release_questions import attributes_of, is_refused

HEADER = "# Made by tests/comparison/releases.py; see release.rs for the meaning of the lines.\n"
WIDTH = 120
# Operations had these sets before a numbered set contained them.
FORMER_SETS = ("experimental", "extension")
# A number above those of all operation sets.
LAST = 1 << 8


def is_close(left, right):
    """Whether two lists of arrays are equal up to rounding."""
    def same(one, other):
        (kind, shape, values), (_, other_shape, other_values) = one, other
        if list(shape) != list(other_shape):
            return False
        if np.dtype(kind).kind not in "fiub":
            return values == other_values
        return np.allclose(np.array(values, "f8"), np.array(other_values, "f8"), rtol=1e-3, atol=1e-4, equal_nan=True)
    return len(left) == len(right) and all(map(same, left, right))


class Answers:
    """The answers of all releases, and once more those of the newest one."""

    def __init__(self, by_release, again, cases):
        self.by_release, self.again, self.cases = by_release, again, cases
        self.releases = list(by_release)
        self.newest = by_release[self.releases[-1]]
        self.keys = collections.defaultdict(list)
        for key in self.newest:
            self.keys[key[0]].append(key)

    def first(self, holds):
        """The first release from which on something holds; None if it does not hold in the newest one."""
        first = None
        for release in reversed(self.releases):
            if not holds(self.by_release[release]):
                break
            first = release
        return first

    def contains(self, key):
        """Since when an operation set contains an operation."""
        return self.first(lambda answers: not is_refused(answers[key]))

    def reads(self, key):
        """Since when a model is read."""
        return self.first(lambda answers: not answers[key]["error"])

    def runs(self, key):
        """Since when a model runs and computes what the newest release or snick computes. Random outputs, which the
        newest release does not repeat, need not be the same."""
        references = [self.newest[key].get("outputs"), self.cases[key[2]].expected if key[0] == "case" else None]
        newest = references[0]
        is_random = newest is None or not is_close(newest, self.again[key].get("outputs", []))

        def holds(answers):
            outputs = answers[key].get("outputs")
            if outputs is None:
                return False
            return is_random or any(is_close(outputs, reference) for reference in references if reference is not None)
        return self.first(holds)

    def understands(self, key, name):
        """Since when the value of an attribute is read as the newest release reads it."""
        def written(answers):
            return answers[key].get("attributes", {}).get(name)
        newest = written(self.newest)
        # Releases write different synonyms; the newest one reads them as the same value.
        synonyms = {newest} | {other[4] for other in self.keys["attribute"] if other[1] == key[1] and other[3] == name
                               and self.newest[other].get("attributes", {}).get(name) == newest}
        return self.first(lambda answers: written(answers) in synonyms)

    def order(self, release):
        """For comparisons; a release that does not exist is the last one."""
        return len(self.releases) if release is None else self.releases.index(release)

    def earliest(self, releases):
        return min(releases, key=self.order, default=None)


def lines(word, rows):
    """One line per group of names: rows are (group, name), and a group is a tuple of words."""
    groups = collections.defaultdict(list)
    for group, name in rows:
        groups[group].append(name)
    for group, names in groups.items():
        text = " ".join([word, *group])
        for name in names:
            if len(text) + 1 + len(name) > WIDTH:
                yield text
                text = " ".join([word, *group])
            text += " " + name
        yield text


def versions(answers, reference):
    """Each version of each operation: the operation, the set that defines it, and the number of the set that redefines
    it. The reader also knows the type Constant, but no layer of this type."""
    for name, op in sorted(reference.items()):
        if name == "Constant":
            continue
        for opset, until in zip(op["opsets"], [*op["opsets"][1:], LAST]):
            yield name, "opset%d" % opset, until
    shown = {key[1] for key in answers.keys["case"]}
    for _, name, opset in answers.keys["set"]:
        # Without a case, only the former sets of an operation count that a later set has, too.
        is_former = opset in FORMER_SETS and any(answers.contains(("set", name, "opset%d" % each))
                                                 for each in reference[name]["opsets"])
        if not opset.startswith("opset") and (is_former or "%s-%s" % (name, opset) in shown):
            yield name, opset, LAST


def read_and_run(answers, op, opset, until):
    """Since when a version of an operation is readable, and since when it runs. `until` is the number of the set that
    redefines the operation."""
    def is_case(key):
        name, named = key[1].split("-", 1)
        return name == op and (named == opset or set_number(opset) <= set_number(named) < (until, ""))
    asked = list(filter(is_case, answers.keys["case"]))
    variants = list(filter(is_case, answers.keys["attribute"]))
    reads = answers.contains(("set", op, opset))
    runs = answers.earliest(map(answers.runs, asked))
    if reads is not None and asked:
        # A release may know the name, but not read the layer.
        reads = max(reads, answers.earliest(map(answers.reads, asked + variants)) or reads, key=answers.order)
    return reads, runs if asked else reads


def operations(answers, reference):
    """Lines `reads RELEASE SET OP...`, and `runs` where an operation runs later than it is read."""
    reads, runs = [], []
    for op, opset, until in versions(answers, reference):
        read, run = read_and_run(answers, op, opset, until)
        if read is None:
            continue
        reads.append(((read, opset), op))
        if answers.order(run) > answers.order(read):
            runs.append(((run or "never", opset), op))

    def order(row):
        (release, opset), op = row
        return answers.order(None if release == "never" else release), set_number(opset), op
    return [*lines("reads", sorted(reads, key=order)), *lines("runs", sorted(runs, key=order))]


def set_number(opset):
    """Orders sets: opset1, opset2 and so on, then the other ones."""
    digits = opset.replace("opset", "")
    return (int(digits), "") if digits.isdigit() else (LAST, opset)


def attributes(answers, reference):
    """Lines `attribute RELEASE OP-SET NAME=VALUE...`, where a value is understood later than the same layer with
    another value, or without it. A release that ignores the default computes the same."""
    by_case = collections.defaultdict(dict)
    for key in answers.keys["attribute"]:
        by_case[key[2], key[3]][key[4]] = key
    since = collections.defaultdict(list)
    for key in answers.keys["case"]:
        case = answers.cases[key[2]]
        for name, values in attributes_of(case.op, reference) if not case.is_variant else ():
            given = case.attributes.get(name)
            default = None if given else answers.newest[key].get("attributes", {}).get(name)
            asked = {**by_case[case.name, name], given: key}
            found = {value: answers.understands(each, name) for value, each in asked.items()
                     if not answers.newest[each]["error"]}
            earliest = answers.earliest([answers.reads(key), *found.values()])
            for value in found.keys() & set(values) - {default}:
                is_later = answers.order(found[value]) > answers.order(earliest)
                since[case.op, name + "=" + value].append(found[value] if is_later else answers.releases[0])
    rows = [((answers.earliest(found) or "never", op), value) for (op, value), found in since.items()]
    return lines("attribute", sorted(row for row in rows if row[0][0] != answers.releases[0]))


def inputs(answers):
    """Lines `inputs RELEASE OP-SET COUNT`, where an operation with this number of inputs works later than others."""
    since = collections.defaultdict(list)
    for key in answers.keys["case"]:
        case = answers.cases[key[2]]
        if not case.is_variant:
            since[key[1], case.input_count].append(answers.runs(key))
    rows = []
    for (op, count), found in sorted(since.items()):
        fewer = [release for (other, inputs), each in since.items() if other == op and inputs < count for release in each]
        earliest = answers.earliest(found)
        if fewer and earliest and answers.order(earliest) > answers.order(answers.earliest(fewer)):
            rows.append(((earliest, op), str(count)))
    return lines("inputs", rows)


def types(answers):
    """Lines `type RELEASE NAME...`; `constant` and `conversion` where these work later or never."""
    rows = {"type": [], "constant": [], "conversion": []}
    read = {}
    for key in answers.keys["type"]:
        _, kind, use = key
        has_outputs = "outputs" in answers.newest[key]
        since = answers.runs(key) if has_outputs else answers.reads(key)
        if use == "type":
            read[kind] = answers.reads(key)
            rows[use].append(((read[kind] or "never",), kind))
        elif use == "conversion" and not has_outputs:
            rows[use].append((("never",), kind))
        elif answers.order(since) > answers.order(read[kind]):
            rows[use].append(((since or "never",), kind))
    return [line for use, each in rows.items() for line in lines(use, sorted(each))]


def features(answers):
    """Lines `feature RELEASE NAME`."""
    for key in answers.keys["feature"]:
        has_outputs = "outputs" in answers.newest[key]
        since = answers.runs(key) if has_outputs else answers.reads(key)
        yield "feature %s %s" % (since or "never", key[1])


def sets(answers, reference):
    """Lines `set RELEASE NUMBER...`: since when an inherited operation may name a set. Then the sets that contain less
    than all operations of the sets before them: `lists SET OP...`, or `lacks SET OP...` where few are missing."""
    numbers = sorted({key[2] for key in answers.keys["set"] if key[2].startswith("opset")}, key=set_number)
    reference = {op: each for op, each in reference.items() if op != "Constant" and any(
        answers.contains(("set", op, opset)) for opset in numbers)}
    rows, exceptions = [], []
    for opset in numbers:
        number = set_number(opset)[0]
        inherited = sorted(op for op, each in reference.items() if each["opsets"] and min(each["opsets"]) < number)
        contained = [op for op in inherited if answers.contains(("set", op, opset))]
        defined = [op for op, each in reference.items() if number in each["opsets"]]
        if not contained and not defined:
            continue
        since = collections.Counter(answers.contains(("set", op, opset)) for op in contained or defined)
        since = since.most_common(1)[0][0]
        if since is None:
            continue
        rows.append(((since,), opset))
        missing = sorted(set(inherited) - set(contained))
        if len(missing) > len(contained):
            exceptions += [("lists", opset, op) for op in contained if number not in reference[op]["opsets"]]
        else:
            exceptions += [("lacks", opset, op) for op in missing]
    for op in reference:
        check_inheritance(answers, reference, op, dict((opset, group[0]) for group, opset in rows))
    return [*lines("set", rows), *lines("lists", [((opset,), op) for word, opset, op in exceptions if word == "lists"]),
            *lines("lacks", [((opset,), op) for word, opset, op in exceptions if word == "lacks"])]


def check_inheritance(answers, reference, op, since_of_set):
    """The table has no line for an operation in a later set than the one that defines it: it must be readable as soon
    as both are. Some releases know a set that is not complete yet, so a few operations are readable earlier."""
    for opset, since in since_of_set.items():
        number = set_number(opset)[0]
        defined = max((each for each in reference[op]["opsets"] if each <= number), default=None)
        found = answers.contains(("set", op, opset))
        if defined in (None, number) or found is None:
            continue
        expected = max(since, answers.contains(("set", op, "opset%d" % defined)), key=answers.order)
        if answers.order(found) > answers.order(expected):
            print("%s in %s is readable since %s, not %s" % (op, opset, found, expected))


def table(answers, reference):
    """The text of the table."""
    parts = ["releases " + " ".join(answers.releases), *sets(answers, reference), *operations(answers, reference),
             *inputs(answers), *attributes(answers, reference), *types(answers), *features(answers)]
    return HEADER + "".join(part + "\n" for part in parts)
