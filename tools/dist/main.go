// Command dist builds what is released: a static binary for each platform in an
// archive with the licence, the README, the changelog and manual pages, and the digests of
// all archives. The same commit and the same Go give the same bytes. Run it in
// the root of the repository with the folder to write into:
//
//	go run ./tools/dist dist
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// texts are the files beside the binary.
var texts = []string{"CHANGELOG.md", "LICENSE", "README.md"}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./tools/dist FOLDER")
	}
	if err := dist(os.Args[1]); err != nil {
		log.Fatalf("dist: %v", err)
	}
}

func dist(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	version := described()
	pages, err := manual(version)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(pages[0])) }()
	var archives []string
	for _, goos := range []string{"darwin", "linux", "windows"} {
		for _, goarch := range []string{"amd64", "arm64"} {
			archive, err := pack(dir, version, goos, goarch, pages)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", goos, goarch, err)
			}
			archives = append(archives, archive)
			info, err := os.Stat(filepath.Join(dir, archive))
			if err != nil {
				return err
			}
			fmt.Printf("%s  %.1f MB\n", archive, float64(info.Size())/1e6)
		}
	}
	return sums(dir, archives)
}

// sums writes the digests of files of a folder into SHA256SUMS beside them, in
// the form that sha256sum -c reads.
func sums(dir string, files []string) error {
	var list bytes.Buffer
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), file)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), list.Bytes(), 0o644)
}

// described returns the version as git tells it: the tag, the commits since and
// whether there are changes; "devel" outside a repository.
func described() string {
	out, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if version := strings.TrimSpace(string(out)); err == nil && version != "" {
		return version
	}
	return "devel"
}

// stamp returns the time of all files in an archive: SOURCE_DATE_EPOCH, else
// the time of the commit, else the earliest that a zip file can hold.
func stamp() time.Time {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err == nil {
			seconds = strings.TrimSpace(string(out))
		}
	}
	if n, err := strconv.ParseInt(seconds, 10, 64); err == nil {
		return time.Unix(n, 0).UTC()
	}
	return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
}

// pack builds for a platform and returns the name of the archive.
func pack(dir, version, goos, goarch string, pages []string) (string, error) {
	tmp, err := os.MkdirTemp("", "dist-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the system clears what is left
	binary := filepath.Join(tmp, "sim")
	if goos == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.release="+version, "-o", binary, "./cmd/sim")
	build.Env = environment(os.Environ(), goos, goarch)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return archive(dir, fmt.Sprintf("sim_%s_%s_%s", version, goos, goarch), goos, slices.Concat(texts, pages, []string{binary}))
}

// manual writes the manual pages and returns their files. A test makes them: their
// generator is no part of the program.
func manual(version string) ([]string, error) {
	dir, err := os.MkdirTemp("", "man-*")
	if err != nil {
		return nil, err
	}
	write := exec.Command("go", "test", "-vet=off", "-count=1", "-ldflags", "-X main.release="+version, "-run", "^TestManPages$", "./cmd/sim")
	write.Env = append(os.Environ(), "MAN="+dir, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", stamp().Unix()))
	if out, err := write.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("manual pages: %w\n%s", err, out)
	}
	return filepath.Glob(filepath.Join(dir, "*.1"))
}

// archive writes files into an archive of the kind that a system expects, with
// one folder in it, and returns its name.
func archive(dir, folder, goos string, files []string) (string, error) {
	name, write := folder+".tar.gz", tarball
	if goos == "windows" {
		name, write = folder+".zip", zipped
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	return name, errors.Join(write(f, folder, files, stamp()), f.Close())
}

// mode returns the permissions of a file in an archive: permissions in the checkout depend on who
// made it.
func mode(file string) int64 {
	if name := filepath.Base(file); name == "sim" || name == "sim.exe" {
		return 0o755
	}
	return 0o644
}

// inside returns the name of a file in an archive.
func inside(folder, file string) string {
	if filepath.Ext(file) == ".1" {
		folder += "/man/man1"
	}
	return folder + "/" + filepath.Base(file)
}

// environment returns the variables of a build for a platform: the variables of whoever runs it,
// without a choice that would give other bytes. An empty variable would leave room for their
// configuration file's, which is not read.
func environment(all []string, goos, goarch string) []string {
	return append(slices.Clone(all), "CGO_ENABLED=0", "GOENV=off", "GOFLAGS=", "GOWORK=off", "GOOS="+goos, "GOARCH="+goarch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off")
}

func tarball(w io.Writer, folder string, files []string, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		head := tar.Header{Name: inside(folder, file), Mode: mode(file), Size: int64(len(data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(&head); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func zipped(w io.Writer, folder string, files []string, at time.Time) error {
	z := zip.NewWriter(w)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		head := zip.FileHeader{Name: inside(folder, file), Method: zip.Deflate, Modified: at}
		head.SetMode(os.FileMode(mode(file)))
		out, err := z.CreateHeader(&head)
		if err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
	return z.Close()
}
