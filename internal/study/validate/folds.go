package validate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/traces"
)

// The ways to divide sessions for a cross-validation.
const (
	byRepository = "repository"
	bySession    = "session"
	byEpoch      = "epoch" // client versions × models with the same cache behaviour
)

// Folds returns the names of the ways to divide sessions for a cross-validation.
func Folds() []string { return []string{byRepository, bySession, byEpoch} }

// evenFolds is the number of folds by session.
const evenFolds = 5

// division says in which fold each session is.
type division struct {
	by    string
	folds []string // by session
}

// CrossValidate fits a profile on all folds but one and scores that one, for
// every fold: each call is predicted by a profile that has not seen its
// repository, session or epoch. The residuals of the bands are those of
// predictions of the other folds.
func CrossValidate(ctx context.Context, o Options, base *profile.Profile, sessions []*traces.Session, by string) (*Report, error) {
	d, err := divide(base, sessions, by)
	if err != nil {
		return nil, err
	}
	return d.validate(ctx, o, sessions, func(_ string, rest []*traces.Session) (*profile.Profile, error) {
		return Fit(ctx, o.Config, base, rest)
	})
}

// validate scores every fold with the profile that fit makes of the others.
func (d *division) validate(
	ctx context.Context, o Options, sessions []*traces.Session,
	fit func(fold string, rest []*traces.Session) (*profile.Profile, error),
) (*Report, error) {
	profiles, err := d.fit(sessions, fit)
	if err != nil {
		return nil, err
	}
	fold := map[string]string{}
	var scored []*traces.Session
	for i, s := range sessions {
		fold[s.ID] = d.folds[i]
		if profiles[d.folds[i]] != nil {
			scored = append(scored, s)
		}
	}
	of := func(s *traces.Session) *profile.Profile { return profiles[fold[s.ID]] }
	o.ConfigFor = func(s *traces.Session) loop.Config { return o.Config.WithProfile(of(s)) }
	o.DrawnFor = func(s *traces.Session, seed uint64) loop.Config { return Drawn(o.Config, of(s), seed) }
	o.Profile = fmt.Sprintf("fitted on the other folds of %d by %s", len(profiles), d.by)
	replications := o.Replications
	o.Replications = 0
	r, err := Run(ctx, o, scored)
	if err != nil || replications == 0 {
		return r, err
	}
	for name, p := range profiles {
		setResiduals(p, slices.DeleteFunc(slices.Clone(r.calls), func(c Call) bool { return fold[c.Session] == name }))
		p.NewResidual = p.Residual
	}
	o.Replications = replications
	return r, r.replicate(ctx, o, scored)
}

// fit returns the profile that predicts each fold, none for a fold without
// others to learn from.
func (d *division) fit(
	sessions []*traces.Session, fit func(fold string, rest []*traces.Session) (*profile.Profile, error),
) (map[string]*profile.Profile, error) {
	profiles := map[string]*profile.Profile{}
	for _, fold := range slices.Compact(slices.Sorted(slices.Values(d.folds))) {
		var rest []*traces.Session
		for i, s := range sessions {
			if d.folds[i] != fold {
				rest = append(rest, s)
			}
		}
		if len(rest) == 0 {
			continue
		}
		p, err := fit(fold, rest)
		if err != nil {
			return nil, err
		}
		profiles[fold] = p
	}
	return profiles, nil
}

// divide names the fold of each session; epochs are those of a profile.
func divide(p *profile.Profile, sessions []*traces.Session, by string) (*division, error) {
	d := &division{by: by, folds: make([]string, len(sessions))}
	switch by {
	case bySession:
		for i := range sessions {
			d.folds[i] = fmt.Sprint(i % evenFolds)
		}
		return d, nil
	case byEpoch:
		for i, s := range sessions {
			d.folds[i] = epochOfSession(p, s)
		}
	case byRepository:
		root := commonRoot(sessions)
		for i, s := range sessions {
			d.folds[i] = repositoryOf(s, root)
		}
	default:
		return nil, fmt.Errorf("unknown folds %q; known: %s", by, strings.Join(Folds(), ", "))
	}
	if len(sessions) > 0 && !slices.ContainsFunc(d.folds, func(f string) bool { return f != d.folds[0] }) {
		return nil, fmt.Errorf("folds by %s: the sessions are of one: %s", by, d.folds[0])
	}
	return d, nil
}

// repositoryOf names the folder below root that has a session's file, else the
// folder the session says it ran in.
func repositoryOf(s *traces.Session, root string) string {
	if len(s.Files) > 0 {
		if first, _, below := strings.Cut(strings.TrimPrefix(filepath.ToSlash(s.Files[0]), root), "/"); below {
			return first
		}
	}
	return s.Project
}

// commonRoot returns the folder above all sessions, with a slash at its end.
// The folders in it are the repositories, in the layout of agents and archives.
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
