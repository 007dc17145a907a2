package claudecode

import (
	"context"
	"io/fs"
	"strings"

	"github.com/compactsim/compactsim/traces"
)

// Read reads the transcripts under paths.
func Read(ctx context.Context, opts traces.Options, paths ...string) (*traces.Corpus, error) {
	inputs, err := traces.Find(context.Background(), opts, paths...)
	if err != nil {
		return nil, err
	}
	return ReadInputs(ctx, opts, inputs, strings.Join(paths, ", "))
}

// ReadFS is Read for the transcripts in a file system.
func ReadFS(ctx context.Context, opts traces.Options, fsys fs.FS) (*traces.Corpus, error) {
	inputs, err := traces.FindFS(fsys)
	if err != nil {
		return nil, err
	}
	return ReadInputs(ctx, opts, inputs, "files")
}
