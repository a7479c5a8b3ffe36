import itertools

from viz_app.drawing.export.selection import runs_without


def test_the_runs_are_all_that_is_not_selected() -> None:
    for count in range(6):
        for some in range(count + 1):
            for indices in itertools.combinations(range(count), some):
                runs = runs_without(indices, count)
                assert [i for run in runs for i in range(*run)] == [i for i in range(count) if i not in indices]
                assert all(end < start for (_, end), (start, _) in itertools.pairwise(runs))
