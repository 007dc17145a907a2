package traces

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Stock is what lies at a place: files counted, none opened.
type Stock struct {
	Place
	Files  int
	Bytes  int64     // as stored
	Newest time.Time // latest modification
}

// Survey looks at places and returns those that hold files, each folder once.
// What cannot be looked at is passed over: nobody asked for it. The error is
// that of ctx.
func Survey(ctx context.Context, places []Place) ([]Stock, error) {
	var found []Stock
	seen := map[string]bool{}
	for _, p := range places {
		real, err := filepath.EvalSymlinks(p.Dir)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		s := Stock{Place: p}
		// The walk follows no links, unlike reading: it may only count less.
		err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return skipUnreadable(d)
			case d.IsDir():
				if p.Flat && path != real {
					return fs.SkipDir
				}
				return nil
			}
			s.count(path, d)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s.Files > 0 {
			found = append(found, s)
		}
	}
	return found, nil
}

func skipUnreadable(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// count adds a file if its name says that it holds sessions.
func (s *Stock) count(path string, d fs.DirEntry) {
	endings := s.Suffixes
	if endings == nil {
		endings = suffixes[:]
	}
	if !endsIn(d.Name(), endings) {
		return
	}
	info, err := d.Info()
	if d.Type()&fs.ModeSymlink != 0 {
		info, err = os.Stat(path)
	}
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	s.Files++
	s.Bytes += info.Size()
	if info.ModTime().After(s.Newest) {
		s.Newest = info.ModTime()
	}
}
