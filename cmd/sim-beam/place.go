package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs" // gs://
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"  // s3://

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/traces"
)

// local reports whether a path is in the file system of the machine, or one that all machines mount.
func local(name string) bool {
	return !strings.Contains(name, "://") || strings.HasPrefix(name, "file://")
}

// list returns the files of an object store that match a glob, in order.
func list(ctx context.Context, glob string) ([]string, error) {
	fs, err := filesystem.New(ctx, glob)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	names, err := fs.List(ctx, glob)
	if err != nil {
		if _, text, ok := strings.Cut(err.Error(), "HostID: "); ok { // S3 puts requests and hosts before the error
			_, text, _ = strings.Cut(text, ", ")
			err = errors.New(strings.TrimPrefix(text, "api error "))
		}
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// put writes a file whole or not at all.
func put(ctx context.Context, name string, write func(io.Writer) error) error {
	if local(name) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		return files.Write(files.Unsynced(ctx), name, write)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer fs.Close()
	w, err := fs.OpenWrite(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = w.Write(b.Bytes())
	return errors.Join(err, w.Close())
}

// open opens a file of the output folder or of a corpus.
func open(ctx context.Context, name string) (io.ReadCloser, error) {
	if local(name) {
		return files.Open(name)
	}
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	r, err := fs.OpenRead(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// at returns a name below a folder.
func at(dir string, elem ...string) string {
	if local(dir) {
		return filepath.Join(append([]string{dir}, elem...)...)
	}
	return strings.TrimSuffix(dir, "/") + "/" + path.Join(elem...)
}

// putValue writes a value for other programs of the run, and getValue reads it.
func putValue(ctx context.Context, name string, v any) error {
	return put(ctx, name, func(w io.Writer) error { return gob.NewEncoder(w).Encode(v) })
}

func getValue(ctx context.Context, name string, v any) error {
	r, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := gob.NewDecoder(r).Decode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// recording is a file of a corpus.
type recording struct {
	Name  string
	Index int   // in order of names
	Maybe bool  // as in traces.Input
	Size  int64 // bytes as stored
}

// find returns the matching recordings in the order of their names, and what could not be examined, without files.
func find(ctx context.Context, globs []string) (found []recording, other *traces.Inputs, err error) {
	other = &traces.Inputs{}
	if len(globs) == 0 {
		return nil, nil, errors.New("which sessions? give files, folders or globs")
	}
	var paths []string
	for _, glob := range globs {
		if !local(glob) {
			names, err := list(ctx, glob)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", glob, err)
			}
			if len(names) == 0 {
				return nil, nil, fmt.Errorf("%s: %w: no file matches", glob, traces.ErrNoSessions)
			}
			for _, name := range names {
				found = append(found, recording{Name: name})
			}
			continue
		}
		glob = strings.TrimPrefix(glob, "file://")
		names := []string{glob}
		if _, missing := os.Lstat(glob); missing != nil { // an existing name may contain a [
			names, err = filepath.Glob(glob)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", glob, err)
		}
		if len(names) == 0 {
			return nil, nil, fmt.Errorf("%s: %w: no file matches", glob, traces.ErrNoSessions)
		}
		for _, name := range names {
			if name, err = filepath.Abs(name); err != nil { // workers may be elsewhere
				return nil, nil, err
			}
			paths = append(paths, name)
		}
	}
	if len(paths) > 0 {
		inputs, err := traces.Find(ctx, traces.Options{}, paths...)
		if err != nil {
			return nil, nil, err
		}
		for _, in := range inputs.Files {
			found = append(found, recording{Name: in.Name, Maybe: in.Maybe})
		}
		other.Problems, other.Dangling, other.Passed = inputs.Problems, inputs.Dangling, inputs.Passed
	}
	slices.SortFunc(found, func(a, b recording) int { return strings.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, func(a, b recording) bool { return a.Name == b.Name })
	for i := range found {
		found[i].Index = i
		found[i].Size = size(ctx, found[i].Name)
	}
	return found, other, nil
}

// size returns the size of a file, 0 if unknown: reading the file reports the reason.
func size(ctx context.Context, name string) int64 {
	if local(name) {
		info, err := os.Stat(name)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return 0
	}
	defer fs.Close()
	n, err := fs.Size(ctx, name)
	if err != nil {
		return 0
	}
	return n
}
