package recordings

import (
	"io"
	"os"
	"path/filepath"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces/store"
)

// StoreFolder returns the folder of parsed sessions.
func StoreFolder() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "compactsim", "sessions"), err
}

// openStore returns the store of parsed sessions; nil, with a warning, for a user without a cache folder.
func openStore(w io.Writer) *store.Store {
	dir, err := StoreFolder()
	if err == nil {
		var s *store.Store
		if s, err = store.Open(dir, new(needs.Index)); err == nil {
			return s
		}
	}
	warnUnkept(w, err)
	return nil
}

// warnUnkept says, even with -q, that the next run will be as slow as this one.
func warnUnkept(w io.Writer, err error) {
	console.Say(w, "warning: parsed sessions are not kept: %v; --no-store does not try", err)
}

// closeStore reports what could not be stored; s may be nil.
func closeStore(w io.Writer, s *store.Store) {
	if s == nil {
		return
	}
	if err := s.Close(); err != nil {
		warnUnkept(w, err)
	}
}
