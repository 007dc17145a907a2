// Package servers describes the prompt caches of providers, a file each, so that a recorded session can be replayed on another
// provider's.
package servers

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces/facts"
)

//go:embed files/*.yaml
var files embed.FS

// Server is the prompt cache of a provider.
type Server struct {
	Name      string   `yaml:"-"` // the name of its file
	About     string   `yaml:"about"`
	Source    string   `yaml:"source"`
	AsOf      string   `yaml:"as_of"`     // year and month
	Certainty string   `yaml:"certainty"` // recorded, documented or assumed
	Sells     []string `yaml:"sells"`     // providers whose models it serves (promptcache.ProviderOf); none for any
	// Markers says that only what a request marks is written. EveryBlockCounts is promptcache.Config's.
	Markers          bool `yaml:"markers"`
	EveryBlockCounts bool `yaml:"every_block_counts"`
	Writes           bool `yaml:"writes"` // what is written is billed as such, and not as plain input
	// Minimum is the shortest prefix that is kept, tokens; 0 for the model's.
	Minimum int32 `yaml:"minimum" min:"0"`
	// Of a cache without markers: reads end at multiples of Step tokens, and responses are kept with their requests if
	// Replies says so; with Recorded both are as in recordings of the provider's models (ServingOf). Lifetime is counted
	// from the last use, 0 for the model's. Overflow is the share of calls that another machine serves, in [0,1].
	Step     int32         `yaml:"step" min:"0"`
	Recorded bool          `yaml:"recorded"`
	Replies  bool          `yaml:"replies"`
	Lifetime time.Duration `yaml:"lifetime" min:"0s"`
	Overflow float64       `yaml:"overflow" min:"0" max:"1"`
	// Grids and Lifetimes are what recordings of the provider's models show. One file for each provider has them; the
	// first row that fits counts.
	Grids     []Grid `yaml:"grids"`
	Lifetimes []Life `yaml:"lifetimes"`
	// Losses is how losses depend on the call before; none where nothing shows that.
	Losses *Losses `yaml:"losses"`
	// Explicit says that the client makes its caches itself and keeps them by the hour (promptcache.Explicit): another
	// when it sends more than Renew tokens behind the last.
	Explicit bool  `yaml:"explicit"`
	Renew    int64 `yaml:"renew" min:"0"`
}

var builtin = sync.OnceValues(func() ([]*Server, error) {
	entries, err := files.ReadDir("files")
	if err != nil {
		return nil, err
	}
	var list []*Server
	for _, e := range entries {
		name := path.Join("files", e.Name())
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s := &Server{Name: strings.TrimSuffix(e.Name(), ".yaml")}
		if err := spec.Decode(text, name, s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
})

// All returns the servers by name.
func All() ([]*Server, error) { return builtin() }

// Of returns the server of a name. The error names one that is spelt alike.
func Of(name string) (*Server, error) {
	list, err := All()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range list {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("unknown server %q%s; known: %s", name, nearest.Hint(name, names), strings.Join(names, ", "))
}

// Serves reports whether the server has a model.
func (s *Server) Serves(model string) bool {
	return len(s.Sells) == 0 || slices.Contains(s.Sells, promptcache.ProviderOf(model))
}

// Cache returns the kind of the server's cache.
func (s *Server) Cache() facts.Cache {
	if s.Markers {
		return facts.CacheMarked
	}
	return facts.CacheAutomatic
}

// Marked returns the settings of a cache with markers that has c's otherwise.
func (s *Server) Marked(c promptcache.Config) promptcache.Config {
	c.EveryBlockCounts = c.EveryBlockCounts || s.EveryBlockCounts
	return c
}

// Automatic returns the settings of a cache without markers that has c's otherwise.
func (s *Server) Automatic(c promptcache.OpenAIConfig) promptcache.OpenAIConfig {
	c.MinTokens, c.Retention = s.Minimum, int64(s.Lifetime)
	c.OverflowPerCall = max(c.OverflowPerCall, s.Overflow)
	c.Serving = func(model string) exchange.Serving { return s.ServingOf(Caller{}, model) }
	c.BillWrites = func(string) bool { return s.Writes }
	return c
}

// ServingOf returns how the server, which has no markers, serves a caller's requests for a model.
func (s *Server) ServingOf(c Caller, model string) exchange.Serving {
	way := exchange.Serving{Step: s.Step, Replies: s.Replies}
	if s.Recorded {
		way = ServingOf(c, model)
	}
	if s.Lifetime > 0 {
		way.Retention, way.FromStart = int64(s.Lifetime), false
	}
	return way
}

// Kept returns the settings of caches that clients make themselves.
func (s *Server) Kept() promptcache.ExplicitConfig {
	return promptcache.ExplicitConfig{MinTokens: s.Minimum, Lifetime: int64(s.Lifetime), Renew: s.Renew}
}
