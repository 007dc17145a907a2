// Gen writes the embedded samples; go generate runs it in the package's folder.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/compactsim/compactsim/traces/synthetic"
)

func main() {
	if err := generate("samples"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes the samples below dir and then removes the files there that
// are no samples any more. The folder is never empty: the package that this
// program imports embeds it.
func generate(dir string) error {
	written := map[string]bool{}
	err := synthetic.WriteSamples(func(path string, gz []byte) error {
		name := filepath.Join(dir, filepath.FromSlash(path))
		written[name] = true
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("make folder of sample: %w", err)
		}
		if err := os.WriteFile(name, gz, 0o644); err != nil {
			return fmt.Errorf("write sample: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || written[path] {
			return err
		}
		return os.Remove(path)
	})
}
