package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces/store"
)

// storeFolder returns the folder of parsed sessions.
func storeFolder() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "compactsim", "sessions"), err
}

// openStore returns the store of parsed sessions; nil with --no-store, or, with a warning, for a
// user without a cache folder.
func (f *readFlags) openStore(cmd *cobra.Command) *store.Store {
	if f.noStore {
		return nil
	}
	dir, err := storeFolder()
	if err == nil {
		var s *store.Store
		if s, err = store.Open(dir, new(needs.Index)); err == nil {
			return s
		}
	}
	warnUnkept(cmd, err)
	return nil
}

// warnUnkept says, even with -q, that the next run will be as slow as this one.
func warnUnkept(cmd *cobra.Command, err error) {
	say(cmd.ErrOrStderr(), "warning: parsed sessions are not kept: %v; --no-store does not try", err)
}

// closeStore reports what could not be stored.
func (f *readFlags) closeStore(cmd *cobra.Command) {
	if f.kept == nil {
		return
	}
	if err := f.kept.Close(); err != nil {
		warnUnkept(cmd, err)
	}
}

func newTracesStore() *cobra.Command {
	return group("store", "Show or remove what is kept of sessions that were read",
		`Sessions that were read are kept in the user's cache folder, so that the next run over the same files starts
at once: numbers, paths, names of tools and models, and digests of what was said, but no text. What audit and advise
found is kept with them, for a second look. A file that has changed is read again, and all files after an upgrade whose readers differ. The folder holds 1 GiB at most; what was used longest ago goes first.`,
		listing("Say where parsed sessions are kept and how much they take", storeTable), newStoreClean())
}

// storeTable says how much is stored.
func storeTable() (*document.Table, error) {
	dir, err := storeFolder()
	if err != nil {
		return nil, fmt.Errorf("no folder for parsed sessions: %w", err)
	}
	list, err := store.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list parsed sessions: %w", err)
	}
	row := []any{dir, len(list), int64(0), "", ""}
	for i, e := range list {
		row[2] = row[2].(int64) + e.Bytes
		at := e.Used.UTC().Format("2006-01-02T15:04Z")
		if row[4] = at; i == 0 {
			row[3] = at
		}
	}
	return &document.Table{Columns: []document.Column{
		{Name: "folder", Title: "FOLDER"}, {Name: "entries", Title: "ENTRIES", Right: true},
		{Name: "bytes", Title: "BYTES", Right: true}, {Name: "oldest_use", Title: "OLDEST USE"},
		{Name: "latest_use", Title: "LATEST USE"},
	}, Rows: [][]any{row}}, nil
}

func newStoreClean() *cobra.Command {
	return &cobra.Command{
		Use: "clean", Short: "Remove what is kept; the next run reads its sessions again", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := storeFolder()
			if err == nil {
				err = store.Clean(dir)
			}
			if err != nil {
				return fmt.Errorf("remove parsed sessions: %w", err)
			}
			return nil
		},
	}
}
