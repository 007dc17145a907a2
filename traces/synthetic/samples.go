package synthetic

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/klauspost/compress/gzip"
)

//go:embed all:samples
var samples embed.FS

// sampleSeed is the seed of every sample.
const sampleSeed = 9

// Samples returns the embedded sessions, gzip-compressed as Claude Code JSONL:
// one folder for each name in Names, laid out as a project's folder of Claude
// Code ("short-fix/<session>.jsonl.gz",
// "fan-out/<session>/subagents/agent-<id>.jsonl.gz").
func Samples() fs.FS {
	sub, err := fs.Sub(samples, "samples")
	if err != nil {
		return samples
	}
	return sub
}

// WriteSamples generates the files of Samples anew and hands each with its
// path below Samples to put.
func WriteSamples(put func(path string, gz []byte) error) error {
	for _, name := range Names() {
		p, _, _ := Named(name)
		s, err := Generate(p, sampleSeed)
		if err != nil {
			return fmt.Errorf("sample: %w", err)
		}
		for _, f := range s.Files() {
			var b bytes.Buffer
			if err := compressTo(&b, f); err != nil {
				return err
			}
			if err := put(name+"/"+f.Name+".gz", b.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// compressTo writes a file through gzip with an empty header, so that equal
// content gives equal bytes. The compressor is a pinned module: the standard
// library's output may change with the toolchain.
func compressTo(w io.Writer, f File) error {
	gz, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("compress %s: %w", f.Name, err)
	}
	gz.ModTime = time.Unix(0, 0) // written as 0: no time
	if err := f.WriteClaudeCode(gz); err != nil {
		return err
	}
	if err := gz.Close(); err != nil {
		return fmt.Errorf("compress %s: %w", f.Name, err)
	}
	return nil
}
