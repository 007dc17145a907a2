package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/compactsim/compactsim/sim/results"
)

// runAt reads the rows of a run from the folder it was written into or from the
// file itself.
func runAt(ctx context.Context, path string) (*results.Run, error) {
	file, err := rowsOf(path)
	if err != nil {
		return nil, err
	}
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read a run: %w", err)
	}
	defer r.Close()
	run, err := results.ReadRows(file, &interruptible{ctx: ctx, r: r})
	if err != nil {
		return nil, fmt.Errorf("not the rows of a run: %w", err)
	}
	return run, nil
}

// rowsOf returns the rows file that a path means.
func rowsOf(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("no run at %s", path)
	case err != nil:
		return "", fmt.Errorf("read a run: %w", err)
	case filepath.Base(path) == documentFile:
		return "", fmt.Errorf("%s is a summary without sessions: give its folder or %s", path, rowsFile)
	case !info.IsDir():
		return path, nil
	}
	file := filepath.Join(path, rowsFile)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%s holds no %s: not a folder of sim run --out", path, rowsFile)
	}
	return file, nil
}
