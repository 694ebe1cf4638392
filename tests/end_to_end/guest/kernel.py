"""Debian's kernel, from the package of its archive; nothing is installed."""

import lzma
import os
import shutil
import subprocess


def _run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _package():
    """linux-image-amd64 depends on the kernel of today."""
    for line in _run("apt-cache", "depends", "linux-image-amd64").splitlines():
        words = line.split()
        if words[:1] == ["Depends:"] and words[1].startswith("linux-image-"):
            return words[1]
    raise RuntimeError("no kernel package is known here: run apt-get update")


def _extract_vmlinux(bzimage):
    """The ELF file inside. Booted by PVH it saves the guest the unpacking, most of its boot."""
    with open(bzimage, "rb") as file:
        content = file.read()
    at = content.find(b"\xfd7zXZ\x00")
    if at < 0:
        raise RuntimeError(f"{bzimage}: holds no xz stream")
    return lzma.LZMADecompressor().decompress(content[at:])


def fetch(folder):
    """Leaves folder/PACKAGE with what the package holds and vmlinux; what is there is kept.

    Returns the paths of vmlinux and of the folder of modules.
    """
    package = _package()
    target = os.path.join(folder, package)
    version = package.removeprefix("linux-image-")
    vmlinux = os.path.join(target, "vmlinux")
    # Written last: a folder that has it is whole.
    if not os.path.exists(vmlinux):
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(target)
        try:
            _run("apt-get", "download", "-q", package, cwd=target)
        except RuntimeError as error:
            raise RuntimeError(f"the kernel cannot be downloaded (apt-get update?): {error}")
        deb = next(name for name in os.listdir(target) if name.endswith(".deb"))
        _run("dpkg", "-x", deb, ".", cwd=target)
        os.remove(os.path.join(target, deb))
        elf = _extract_vmlinux(os.path.join(target, "boot", "vmlinuz-" + version))
        with open(vmlinux + ".part", "wb") as file:
            file.write(elf)
        os.rename(vmlinux + ".part", vmlinux)
    return vmlinux, os.path.join(target, "lib", "modules", version)
