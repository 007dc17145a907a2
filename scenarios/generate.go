package scenarios

import (
	"fmt"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// Generate says which sessions are made from a profile instead of read.
type Generate struct {
	Profile  string `yaml:"profile"`                  // name or file, "" for none
	Sessions int    `yaml:"sessions" needs:"profile"` // 1…synthetic.MaxSessions
	Seed     uint64 `yaml:"seed" needs:"profile"`
}

func (x *expansion) validateGenerate(s *Sessions) {
	g := &s.Generate
	if g.Profile == "" {
		return
	}
	if len(s.Paths) > 0 {
		x.contradiction("sessions.generate.profile makes sessions, sessions.paths reads them: give one", "sessions.generate.profile", "sessions.paths")
	}
	if g.Sessions < 1 || g.Sessions > synthetic.MaxSessions {
		x.contradiction(fmt.Sprintf("sessions.generate.sessions %d must lie in 1…%d", g.Sessions, synthetic.MaxSessions), "sessions.generate.sessions")
	}
	if _, err := synthetic.LoadWorkload(g.Profile); err != nil {
		x.contradiction("sessions.generate.profile: "+err.Error(), "sessions.generate.profile")
	}
}
