"""The guest's file system: programs with their libraries, kernel modules, the scripts."""

import os
import re
import shutil
import subprocess


def _libraries(program):
    """What ldd finds. A static program has none."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    return re.findall(r"(?:=> )?(/\S+) \(0x", done.stdout)


def _module_files(folder):
    files = {}
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".ko"):
                files[name[:-3].replace("-", "_")] = os.path.join(path, name)
    return files


def _depends(file):
    """The module's own record (modinfo): depends=a,b."""
    with open(file, "rb") as module:
        found = re.search(rb"\0depends=([^\0]*)\0", module.read())
    return [name for name in found[1].decode().split(",") if name] if found else []


def _in_order(wanted, files):
    """These modules and what they need, each behind what it needs itself."""
    order = []

    def add(name):
        name = name.replace("-", "_")
        # What is no file is built in.
        if name in order or name not in files:
            return
        for other in _depends(files[name]):
            add(other)
        order.append(name)

    for name in wanted:
        if name not in files:
            raise RuntimeError(f"the kernel package has no module {name}")
        add(name)
    return order


def make(folder, output, programs, scripts, boards, modules_folder, modules):
    """Fills the folder and packs it into output (cpio, "newc")."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(scripts, folder)
    for name in ("bin", "modules", "proc", "sys", "dev", "tmp"):
        os.makedirs(os.path.join(folder, name))
    shutil.copytree(boards, os.path.join(folder, "boards"))
    for program in programs:
        found = shutil.which(program)
        if not found:
            raise RuntimeError(f"{program} is missing")
        shutil.copy(found, os.path.join(folder, "bin"))
        for library in _libraries(found):
            target = folder + library
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(library, target)
    files = _module_files(modules_folder)
    order = _in_order(modules, files)
    for name in order:
        shutil.copy(files[name], os.path.join(folder, "modules", name + ".ko"))
    with open(os.path.join(folder, "modules", "order"), "w") as file:
        file.write("".join(name + "\n" for name in order))
    names = ["."]
    for path, folders, contents in os.walk(folder):
        names += [os.path.relpath(os.path.join(path, name), folder) for name in folders + contents]
    with open(output, "wb") as file:
        subprocess.run(["cpio", "--quiet", "--null", "-o", "-H", "newc", "-R", "0:0"], cwd=folder,
                       input="\0".join(names).encode() + b"\0", stdout=file, check=True)
