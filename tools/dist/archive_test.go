package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// entry is a file in an archive.
type entry struct {
	Name, Text string
	Mode       int64
	Time       int64 // s since 1970
}

// An archive holds one folder with the texts and the binary as they are, the
// binary alone for running, each with the time of the release: a tarball for Unix, a zip file for
// Windows. The digests belong to the bytes, and a second time the bytes are the same.
func TestArchives(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600") // 2026-01-01
	from, dir := t.TempDir(), t.TempDir()
	contents := map[string]string{"CHANGELOG.md": "# Changes\n", "LICENSE": "free\n", "README.md": "", "sim": "\x7fELF\x00", "sim.exe": "MZ\x00\xff"}
	for name, text := range contents {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := map[string]func(testing.TB, []byte) []entry{"linux": untar, "darwin": untar, "windows": unzip}
	want := map[string]string{"linux": "sim_v1_linux_arm64.tar.gz", "darwin": "sim_v1_darwin_arm64.tar.gz", "windows": "sim_v1_windows_arm64.zip"}
	var names []string
	for _, goos := range []string{"darwin", "linux", "windows"} {
		binary, folder := "sim", "sim_v1_"+goos+"_arm64"
		if goos == "windows" {
			binary = "sim.exe"
		}
		var files []string
		var entries []entry
		for _, name := range append(texts[:len(texts):len(texts)], binary) {
			files = append(files, filepath.Join(from, name))
			entries = append(entries, entry{folder + "/" + name, contents[name], 0o644, 1767225600})
		}
		entries[len(entries)-1].Mode = 0o755
		name, err := archive(dir, folder, goos, files)
		if err != nil || name != want[goos] {
			t.Fatalf("%s: %q, %v", goos, name, err)
		}
		names = append(names, name)
		first := fileOf(t, dir, name)
		if diff := cmp.Diff(entries, read[goos](t, first)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, err := archive(dir, folder, goos, files); err != nil || !bytes.Equal(first, fileOf(t, dir, name)) {
			t.Errorf("%s: other bytes the second time (%v)", name, err)
		}
	}
	if err := sums(dir, names); err != nil {
		t.Fatal(err)
	}
	checkSums(t, dir, names)
}

// checkSums reads SHA256SUMS as sha256sum -c does.
func checkSums(t *testing.T, dir string, names []string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(fileOf(t, dir, "SHA256SUMS")), "\n"), "\n")
	if len(lines) != len(names) {
		t.Fatalf("%d digests of %d archives", len(lines), len(names))
	}
	for i, line := range lines {
		digest, name, ok := strings.Cut(line, "  ")
		sum := sha256.Sum256(fileOf(t, dir, names[i]))
		if !ok || name != names[i] || digest != hex.EncodeToString(sum[:]) {
			t.Errorf("%q is not the digest of %s", line, names[i])
		}
	}
}

// A file that is not there makes no archive without it, and no digest.
func TestArchiveWithoutFile(t *testing.T) {
	dir := t.TempDir()
	for _, goos := range []string{"linux", "windows"} {
		if _, err := archive(dir, "sim_v1", goos, []string{filepath.Join(dir, "LICENSE")}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: error %v", goos, err)
		}
	}
	if err := sums(dir, []string{"none.zip"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func fileOf(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func untar(t testing.TB, data []byte) []entry {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var list []entry
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{head.Name, string(text), head.Mode, head.ModTime.Unix()})
	}
}

func unzip(t testing.TB, data []byte) []entry {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var list []entry
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{f.Name, string(text), int64(f.Mode().Perm()), f.Modified.In(time.UTC).Unix()})
	}
	return list
}
