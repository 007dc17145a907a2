package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// dictionary returns the texts of a script as JSON has them. Most of a recording is of these, so it takes half the room
// where they are at hand when it is compressed and read.
func dictionary(script string) ([]byte, error) {
	told := map[string]bool{}
	var b strings.Builder
	newScript(script).texts(func(text string) {
		if !told[text] {
			told[text] = true
			b.WriteString(text + "\n")
		}
	})
	return json.Marshal(b.String())
}

// pressed returns a text compressed by the command zstd, which is slower and better at it than its library in Go.
func pressed(text, dict []byte) ([]byte, error) {
	folder, err := os.MkdirTemp("", "experiment")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	plain, from := filepath.Join(folder, "plain"), filepath.Join(folder, "dict")
	for name, b := range map[string][]byte{plain: text, from: dict} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			return nil, err
		}
	}
	out, err := exec.Command("zstd", "-22", "--ultra", "--long=27", "-qc", "--patch-from="+from, plain).Output()
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return out, nil
}

// corpus reads the recording of a run. The caller calls done when it needs the corpus no more.
func corpus(ctx context.Context, folder string, r *run) (c *traces.Corpus, done func() error, err error) {
	dict, err := dictionary(r.Script)
	if err != nil {
		return nil, nil, err
	}
	reader, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, dict), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, err
	}
	defer reader.Close()
	to, err := os.MkdirTemp("", "experiment")
	if err != nil {
		return nil, nil, err
	}
	from := filepath.Join(folder, "recordings", r.Name)
	err = filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		packed, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		plain, err := reader.DecodeAll(packed, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rel, err := filepath.Rel(from, strings.TrimSuffix(name, ".zst"))
		if err != nil {
			return err
		}
		return put(filepath.Join(to, rel), string(plain), 0o600)
	})
	if err == nil {
		c, err = agents.Read(ctx, traces.Options{Listener: needs.NewListener()}, to)
	}
	if err != nil {
		_ = os.RemoveAll(to)
		return nil, nil, err
	}
	return c, func() error {
		if err := c.Close(); err != nil {
			return err
		}
		return os.RemoveAll(to)
	}, nil
}
