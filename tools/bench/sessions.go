//go:build unix

package main

import (
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// recorded are folders of recordings beside the repository.
var recorded = []string{"../shared/traces/claude-code", "../shared/traces-3/claude-code"}

// provide finds or makes the sessions.
func (b *bench) provide(copies int) error {
	folders := []string{b.sessions}
	if b.sessions == "" {
		folders = recorded
		if _, err := os.Stat(filepath.Join(b.now, folders[0])); err != nil {
			b.sessions = filepath.Join(b.dir, "generated")
			return b.generate(b.sessions, "recorded", "200")
		}
	}
	b.sessions = filepath.Join(b.dir, fmt.Sprintf("sessions.%08x.%d", crc32.ChecksumIEEE([]byte(strings.Join(folders, "\n"))), copies))
	if _, err := os.Stat(b.sessions); err == nil {
		return nil // made by an earlier comparison in this folder
	}
	part := b.sessions + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	for copied := range copies {
		for i, folder := range folders {
			if err := unpack(folder, filepath.Join(part, fmt.Sprintf("%d-%d", i, copied)), copied); err != nil {
				return err
			}
		}
	}
	return os.Rename(part, b.sessions)
}

// generate makes sessions of a profile, which has a name or is a file.
func (b *bench) generate(to, profile, sessions string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	return tell(b.dir, b.program("now"), "traces", "gen", "--profile", profile, "--sessions", sessions, "-o", to)
}

// ids are what makes one recording another one.
var ids = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-|\b(msg|req|toolu)_[0-9A-Za-z]{2}`)

// unpack writes the recordings of a folder into another one, uncompressed and under ids of copy number n.
func unpack(from, to string, n int) error {
	again := func(text string) string {
		if n == 0 {
			return text
		}
		return ids.ReplaceAllStringFunc(text, func(id string) string {
			at := strings.IndexByte(id, '_') + 1 // its first digit is the copy's
			return id[:at] + string("0123456789abcdef"[n]) + id[at+1:]
		})
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := read(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		path = filepath.Join(to, again(strings.TrimSuffix(strings.TrimSuffix(rel, ".zst"), ".gz")))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(again(string(text))), 0o600)
	})
}

// read returns the text of a file that may be compressed.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".zst":
		z, err := zstd.NewReader(f)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	case ".gz":
		if r, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(r)
}

// sizeOf says how much a folder holds.
func sizeOf(folder string) string {
	var files, size int64
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				files, size = files+1, size+info.Size()
			}
		}
		return nil
	})
	return fmt.Sprintf("%d files, %.0f MB", files, float64(size)/1e6)
}
