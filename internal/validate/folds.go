package validate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
)

// Folds are the ways of dividing sessions for a cross-validation.
func Folds() []string { return []string{"repository", "session"} }

// sessionFolds is the number of folds by session.
const sessionFolds = 5

// CrossValidate fits a profile on all folds but one and scores that one, for
// every fold: each call is predicted by a profile that has not seen its
// repository, or its session.
func CrossValidate(ctx context.Context, o Options, base *profile.Profile, sessions []*traces.Session, by string) (*Report, error) {
	fold, err := folds(sessions, by)
	if err != nil {
		return nil, err
	}
	profiles := map[string]*profile.Profile{}
	of := map[*traces.Session]*profile.Profile{}
	for i, s := range sessions {
		name := fold[i]
		if profiles[name] == nil {
			var rest []*traces.Session
			for j := range sessions {
				if fold[j] != name {
					rest = append(rest, sessions[j])
				}
			}
			if profiles[name], err = Fit(ctx, o.Config, base, rest); err != nil {
				return nil, err
			}
		}
		of[s] = profiles[name]
	}
	o.ConfigFor = func(s *traces.Session) sim.Config { return WithProfile(o.Config, of[s]) }
	o.DrawnFor = func(s *traces.Session, seed uint64) sim.Config { return Drawn(o.Config, of[s], seed) }
	o.Profile = fmt.Sprintf("fitted on the other folds of %d by %s", len(profiles), by)
	return Run(ctx, o, sessions)
}

// folds names the fold of each session.
func folds(sessions []*traces.Session, by string) ([]string, error) {
	names := make([]string, len(sessions))
	switch by {
	case "session":
		for i := range sessions {
			names[i] = fmt.Sprint(i % sessionFolds)
		}
		return names, nil
	case "repository":
	default:
		return nil, fmt.Errorf("unknown folds %q; known: %s", by, strings.Join(Folds(), ", "))
	}
	root := commonRoot(sessions)
	distinct := map[string]bool{}
	for i, s := range sessions {
		names[i] = s.Project
		if len(s.Files) > 0 {
			first, _, below := strings.Cut(strings.TrimPrefix(filepath.ToSlash(s.Files[0]), root), "/")
			if below {
				names[i] = first
			}
		}
		distinct[names[i]] = true
	}
	if len(distinct) < 2 {
		return nil, fmt.Errorf("folds by repository: the sessions are of one: %s", names[0])
	}
	return names, nil
}

// commonRoot returns the folder above all sessions, with a slash at its end: the
// folders in it are the repositories, as agents and archives keep them.
func commonRoot(sessions []*traces.Session) string {
	root, known := "", false
	for _, s := range sessions {
		if len(s.Files) == 0 {
			continue
		}
		dir := filepath.ToSlash(filepath.Dir(s.Files[0])) + "/"
		if !known {
			root, known = dir, true
		}
		for !strings.HasPrefix(dir, root) {
			root = root[:strings.LastIndex(strings.TrimSuffix(root, "/"), "/")+1]
		}
	}
	return root
}
