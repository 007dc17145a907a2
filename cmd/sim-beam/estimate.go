package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/compactsim/compactsim/traces"
)

// Costs of a run that a sample of its files does not show.
const (
	sampleFiles  = 40       // evenly spread files that are read and simulated
	sampleBytes  = 16 << 20 // size of these, as stored
	nameBytes    = 11       // of a name and its file in a shuffle
	rowBytes     = 4000     // of a row as JSON
	baseMemory   = 200      // MiB, of a worker with nothing to do
	memoryFactor = 4        // bytes of memory per byte of the largest block while it is read
)

// dryRun says how large a run would be. Nothing is submitted.
func dryRun(ctx context.Context, w io.Writer, r *recipe, files []recording, coreHour float64) error {
	bytes, largest := (&block{Files: files}).bytes(), int64(0)
	for _, f := range files {
		largest = max(largest, f.Size)
	}
	plan, err := r.plan()
	if err != nil {
		return err
	}
	sample := spread(files)
	seen := sample.bytes()
	begun := time.Now()
	x, err := sample.read(ctx, r, plan, nil)
	if err != nil {
		return err
	}
	defer x.close()
	read := time.Since(begun).Hours() * float64(plan.Workers)
	begun = time.Now()
	if _, err = plan.Run(ctx, x.corpus); err != nil && !errors.Is(err, traces.ErrNoSessions) {
		return err
	}
	simulated := time.Since(begun).Hours() * float64(plan.Workers)
	recorded := 0
	for _, s := range x.corpus.Sessions {
		recorded += s.NumCalls()
	}
	scale, cells := float64(bytes)/float64(max(1, seen)), len(plan.Design.Cells)
	hours := scale * (2*read + simulated) // read twice unless a store is shared
	sessions, calls := scale*float64(len(x.corpus.Sessions)), scale*float64(recorded)
	rows, shuffle := sessions*float64(cells), calls*nameBytes
	memory := baseMemory + (max(largest, roomBytes)*memoryFactor+int64(roomBlocks*usual.maxRows)*rowBytes)>>20
	_, err = fmt.Fprintf(w, "%d files, %.1f MB as stored; figures below are from %d files, %.1f MB\n"+
		"%.0f sessions × %d cells = %.0f calls to simulate\n"+
		"%.3f core-hours, at $%.3f each $%.2f\n"+
		"about %d MiB of memory in a worker\n"+
		"%.1f MB shuffled, %.2f %% of what is read\n"+
		"%.1f MB of rows\n",
		len(files), mega(bytes), len(sample.Files), mega(seen),
		sessions, cells, calls*float64(cells),
		hours, coreHour, hours*coreHour,
		memory, shuffle/1e6, 100*shuffle/float64(max(1, bytes)), rows*rowBytes/1e6)
	return err
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

// spread returns a block of evenly spread files.
func spread(files []recording) *block {
	var b block
	n := min(sampleFiles, len(files))
	for i := range n {
		f := files[i*len(files)/n]
		if len(b.Files) == 0 || b.bytes()+f.Size <= sampleBytes {
			b.Files = append(b.Files, f)
		}
	}
	return &b
}
