"""The copy-on-write tree: layers, changes, export, reset."""

import hashlib
import os

import pytest

from scienceide.envs.sandbox.protocol import Change


def snapshot(folder):
    """Everything about a folder's files that a sandbox might spoil."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return found


def test_layers_are_merged_topmost_first(box):
    assert box.run("cat a.txt b.txt c.txt pkg/one.py").output == b"bottom a\ntop b\ntop c\none = 1\n"
    assert box.run("./tool.sh; cat link").output == b"tool\nbottom a\n"
    assert box.changes() == []


def test_no_layers_make_an_empty_tree(box):
    box.reset(())
    assert box.run("ls -A; echo x > y; cat y").output == b"x\n"
    assert [c.path for c in box.changes()] == ["y"]


def test_layers_are_never_modified(box, layers):
    before = [snapshot(layer) for layer in layers]
    box.run(
        "echo more >> a.txt; rm b.txt c.txt; rm -rf pkg; mkdir pkg; echo new > pkg/one.py; chmod 777 tool.sh; "
        "touch tool.sh; mv link link2; echo > new; find . -exec touch {} +"
    )
    assert len(box.changes()) > 4
    box.reset()
    assert [snapshot(layer) for layer in layers] == before


def test_changes_name_what_differs(box):
    box.run("echo more >> a.txt; echo new > 'new file'; rm b.txt; ln -s a.txt soft; mkfifo pipe; mkdir empty")
    size = len("bottom a\nmore\n")
    assert box.changes() == [
        Change("a.txt", "file", size),
        Change("b.txt", "deleted"),
        Change("new file", "file", 4),
        Change("pipe", "other"),
        Change("soft", "symlink", len("a.txt")),
    ]


def test_touching_is_no_change_but_a_mode_is(box):
    box.run("touch a.txt; chmod 755 c.txt; cp b.txt x; cat x > b.txt; rm x")
    assert [c.path for c in box.changes()] == ["c.txt"]


def test_renames_and_deletions_of_lower_files(box):
    box.run("mv a.txt renamed.txt; mv pkg package; rm -r tool.sh")
    found = {c.path: c.kind for c in box.changes()}
    assert found == {
        "a.txt": "deleted",
        "renamed.txt": "file",
        "pkg/one.py": "deleted",
        "pkg/two.py": "deleted",
        "package/one.py": "file",
        "package/two.py": "file",
        "tool.sh": "deleted",
    }


def test_folder_deleted_and_made_again(box):
    box.run("rm -r pkg; mkdir pkg; echo 'one = 1' > pkg/one.py; echo > pkg/three.py")
    assert {c.path: c.kind for c in box.changes()} == {"pkg/two.py": "deleted", "pkg/three.py": "file"}


def test_file_and_folder_change_places(box):
    box.run("rm a.txt; mkdir a.txt; echo > a.txt/in; rm -r pkg; echo > pkg")
    assert {c.path: c.kind for c in box.changes()} == {
        "a.txt": "deleted",
        "a.txt/in": "file",
        "pkg": "file",
        "pkg/one.py": "deleted",
        "pkg/two.py": "deleted",
    }


def test_undone_changes_are_none(box):
    box.run("mv a.txt b; mv b a.txt; rm c.txt; echo top c > c.txt")
    assert box.changes() == []


def test_changes_in_a_very_deep_folder(box):
    code = "import os\nfor n in range(1500):\n    os.mkdir('d'); os.chdir('d')\nopen('leaf', 'w').close()"
    assert box.run(["python", "-c", code]).exit_code == 0
    assert [c.kind for c in box.changes()] == ["other"]
    box.run("echo x > y")
    assert "y" in [c.path for c in box.changes()]


def test_names_that_are_no_text(box):
    box.run(["python", "-c", "open(b'\\xff\\xfe', 'w').write('x')"])
    (change,) = box.changes()
    assert os.fsencode(change.path) == b"\xff\xfe"


def test_reset_restores_everything(box):
    listing = "find . -printf '%p %m %s %l\\n' | sort; cat a.txt b.txt c.txt pkg/* tool.sh"
    before = box.run(listing).output
    box.run(
        "rm -rf * .??*; echo x > a.txt; mkdir pkg; chmod 000 pkg; echo > /tmp/t; echo > /dev/shm/s; mkdir -p /tmp/x/y"
    )
    box.reset()
    assert box.run(listing).output == before
    assert box.run("ls -A /tmp /dev/shm").output == b"/dev/shm:\n\n/tmp:\n"
    assert box.changes() == []


def test_reset_with_other_layers(box, tmp_path):
    (tmp_path / "only").write_text("only")
    box.run("echo x > y")
    box.reset((tmp_path,))
    assert box.run("ls -A").output == b"only\n"
    box.reset()
    assert box.run("ls -A").output == b"only\n"


def test_reset_many_times(box):
    for number in range(25):
        assert box.run(f"test ! -e n && echo {number} > n && cat n").output == b"%d\n" % number
        box.reset()


def test_modification_times_of_layers_show_inside(box, layers):
    expected = (layers[1] / "a.txt").stat().st_mtime_ns
    seen = box.run(["python", "-c", "import os; print(os.stat('a.txt').st_mtime_ns)"])
    assert int(seen.output) == expected


def test_export_keeps_everything_that_builds_depend_on(box, layers, tmp_path):
    box.run("echo x > x; touch -d '2001-02-03 04:05:06.789012345' x; chmod 750 x; ln -s x s; mkdir -p e/f; rm b.txt")
    box.run("touch -d '2002-01-01 00:00:00.5' e; chmod 500 e/f")
    out = tmp_path / "out"
    out.mkdir()
    box.export(out)
    assert sorted(p.name for p in out.iterdir()) == ["a.txt", "c.txt", "e", "link", "pkg", "s", "tool.sh", "x"]
    assert (out / "x").stat().st_mtime_ns == 981173106789012345
    assert (out / "x").stat().st_mode & 0o777 == 0o750
    assert (out / "a.txt").stat().st_mtime_ns == (layers[1] / "a.txt").stat().st_mtime_ns
    assert (out / "e").stat().st_mtime_ns == 1009843200500000000
    assert os.readlink(out / "s") == "x"
    assert {p.lstat().st_uid for p in out.rglob("*")} == {os.getuid()}


def test_export_of_changes_alone(box, tmp_path):
    box.run("echo x > pkg/new.py; rm a.txt; touch b.txt; ln -s gone s; mkfifo p; mkdir -p empty/folder")
    out = tmp_path / "out"
    out.mkdir()
    box.export(out, only_changes=True)
    assert sorted(str(p.relative_to(out)) for p in out.rglob("*")) == ["pkg", "pkg/new.py", "s"]


def test_export_serves_as_a_layer(box, layers, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    box.run("echo built > product; echo patched > a.txt; mkdir sub; echo in > sub/f")
    box.export(out, only_changes=True)
    box.reset((out, *layers))
    assert box.run("cat product a.txt sub/f; cat c.txt").output == b"built\npatched\nin\ntop c\n"
    assert box.run("echo more >> sub/f; rm product; cat sub/f").output == b"in\nmore\n"
    assert box.changes() == [Change("product", "deleted"), Change("sub/f", "file", 8)]


def test_export_does_not_follow_planted_links(box, tmp_path):
    box.run("ln -s / slash; ln -s /proc/self/root up; ln -s ../../../.. dots; chmod 4755 tool.sh")
    out = tmp_path / "out"
    out.mkdir()
    box.export(out)
    assert (out / "slash").is_symlink()
    assert (out / "up").is_symlink()
    assert (out / "tool.sh").stat().st_mode & 0o7000 == 0


@pytest.mark.parametrize("count", [3, 12])
def test_many_layers(box, tmp_path, count):
    made = []
    for number in range(count):
        layer = tmp_path / str(number)
        layer.mkdir()
        (layer / "who").write_text(str(number))
        (layer / f"own{number}").write_text("x")
        made.append(layer)
    box.reset(tuple(made))
    assert box.run("cat who; ls | wc -l").output == b"0%d\n" % (count + 1)


def test_whiteouts_in_layers(box, layers, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make a whiteout by hand")
    import stat

    os.mknod(tmp_path / "a.txt", stat.S_IFCHR, os.makedev(0, 0))
    box.reset((tmp_path, *layers))
    assert box.run("ls a.txt").exit_code != 0
    box.run("echo again > a.txt")
    assert box.changes() == [Change("a.txt", "file", 6)]


def test_rename_of_a_folder_full_of_files(box):
    box.run("mkdir big; for i in $(seq 300); do echo $i > big/$i; done; mv big bigger")
    found = box.changes()
    assert len(found) == 300
    digest = hashlib.sha256(box.run("cat bigger/*").output)
    assert digest.hexdigest()
