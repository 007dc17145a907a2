// Package servers describes the prompt caches of providers, a file each, so that a recorded session can be replayed on another
// provider's.
package servers

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
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

// MaxGrids is the largest number of grids of all servers together.
const MaxGrids = 16

// Models says which models a row of a server's file is for: all where it is empty.
type Models struct {
	Model string `yaml:"model"` // what their names begin with
	From  string `yaml:"from"`  // the model of a family from whose version on, as in gpt-5.5
}

// Match reports whether the row is for a model, whoever sells it.
func (m *Models) Match(model string) bool {
	model = model[strings.LastIndexByte(model, '/')+1:]
	if !strings.HasPrefix(model, m.Model) {
		return false
	}
	if m.From == "" {
		return true
	}
	family, least := version(m.From)
	own, at := version(model)
	return own == family && slices.Compare(at[:], least[:]) >= 0
}

// version splits the name of a model into its family and the two numbers of its version, as in
// gpt-5.6-sol: gpt, 5 and 6.
func version(model string) (family string, at [2]int) {
	family, rest, _ := strings.Cut(model, "-")
	rest, _, _ = strings.Cut(rest, "-")
	for i := range at {
		var number string
		number, rest, _ = strings.Cut(rest, ".")
		at[i], _ = strconv.Atoi(number)
	}
	return family, at
}

// Caller is who asks a server: an agent, and who passes its calls on.
type Caller struct {
	Agent   string
	Gateway string // as logs name it; "" for none, or where that is not known
}

// CallerOf returns who asked for a model in a round. A provider under a name of its own, such as openai-codex, is no gateway.
func CallerOf(s *traces.Session, r *traces.Round) Caller {
	c := Caller{s.Agent, s.Named(signs.NameGateway, r.Gateway)}
	if own := promptcache.ProviderOf(s.Models[r.Model]); own != "" && strings.HasPrefix(c.Gateway, own) {
		c.Gateway = ""
	}
	return c
}

// Grid is where the reads of a cache without markers end.
type Grid struct {
	Agent   string `yaml:"agent"`   // "" for any
	Gateway string `yaml:"gateway"` // "" for any, and for none
	Models  `yaml:",inline"`
	// Learned says that no thread begins with the grid: its own reads have to show it.
	Learned bool `yaml:"learned"`
	// The rest is as in exchange.Serving.
	Step    int32   `yaml:"step" min:"1"`
	Offset  int32   `yaml:"offset" min:"0"`
	Lag     int32   `yaml:"lag" min:"0"`
	Below   int32   `yaml:"below" min:"0"`
	Ratio   float64 `yaml:"ratio" min:"0" max:"2"`
	Replies bool    `yaml:"replies"`
}

// serves reports whether the grid is for a caller's requests.
func (g *Grid) serves(c Caller) bool {
	return (g.Agent == "" || g.Agent == c.Agent) && (g.Gateway == "" || g.Gateway == c.Gateway)
}

// serving returns the grid without a lifetime.
func (g *Grid) serving() exchange.Serving {
	return exchange.Serving{Step: g.Step, Offset: g.Offset, Lag: g.Lag, Below: g.Below, Ratio: g.Ratio, Replies: g.Replies}
}

// Rules returns an error for an offset that no read has.
func (g *Grid) Rules() []error {
	if g.Offset >= g.Step {
		return []error{spec.Wrong("offset", "is %d in steps of %d: it must be smaller", g.Offset, g.Step)}
	}
	return nil
}

// Life is how long a cache without markers keeps an idle prefix of some models, whoever calls, and how the
// prefix changes.
type Life struct {
	Models   `yaml:",inline"`
	Lifetime time.Duration `yaml:"lifetime" above:"0s"`
	// FromStart counts it from the start of the last request that used the prefix, not from the end of its response.
	FromStart bool `yaml:"from_start"`
	// Forgets is as in exchange.Serving.
	Forgets bool `yaml:"forgets"`
}

// Losses is what calls lose for no visible reason, in proportion to the average of the provider's calls, by what the call before
// of their thread and model read. Weighed by the numbers of such calls both together are 1.
type Losses struct {
	BehindNone float64 `yaml:"behind_none" min:"0"` // where it read nothing
	BehindRead float64 `yaml:"behind_read" min:"0"`
}

// LossesOf returns the losses of a model, nil where the call before makes no difference.
func LossesOf(model string) *Losses {
	if s := reference()[promptcache.ProviderOf(model)]; s != nil {
		return s.Losses
	}
	return nil
}

// Behind returns what calls lose in proportion to the average, behind a call that read nothing or something.
func (l *Losses) Behind(nothing bool) float64 {
	switch {
	case l == nil:
		return 1
	case nothing:
		return l.BehindNone
	default:
		return l.BehindRead
	}
}

// What is assumed about a provider that no file describes.
const (
	// documented is the step that most providers document, tokens.
	documented = 128
	// leastKept is the shortest time that a provider documents to keep an idle prefix: Anthropic's, and the least of OpenAI's
	// "5 to 10 minutes". Of recorded prefixes of OpenAI that are 5 to 10 minutes old half are read, so the data speak for neither end.
	leastKept = 5 * time.Minute
)

// reference returns the server whose file says how the requests of a model were served, nil for a model of
// a provider without one.
var reference = sync.OnceValue(func() map[string]*Server {
	by := map[string]*Server{}
	list, err := All()
	if err != nil {
		return by // every caller of All sees the error
	}
	for _, s := range list {
		for _, p := range s.Sells {
			if len(s.Grids) > 0 {
				by[p] = s
			}
		}
	}
	return by
})

// ServingOf returns how a caller's requests for a model were served in recordings, by the files of
// servers: multiples of 128 tokens, for five minutes, for a provider that none describes.
func ServingOf(c Caller, model string) exchange.Serving {
	s := reference()[promptcache.ProviderOf(model)]
	if s == nil {
		return exchange.Serving{Step: documented, Retention: int64(leastKept)}
	}
	return s.served(c, model)
}

// Recorded returns how requests for a model were served in recordings, whoever calls.
func Recorded(model string) exchange.Serving { return ServingOf(Caller{}, model) }

// served returns the first grid that fits, and the first lifetime.
func (s *Server) served(c Caller, model string) exchange.Serving {
	way := exchange.Serving{Step: documented}
	for i := range s.Grids {
		if g := &s.Grids[i]; !g.Learned && g.serves(c) && g.Match(model) {
			way = g.serving()
			break
		}
	}
	for i := range s.Lifetimes {
		if l := &s.Lifetimes[i]; l.Match(model) {
			way.Retention, way.FromStart, way.Forgets = int64(l.Lifetime), l.FromStart, l.Forgets
			break
		}
	}
	return way
}

// grids are the different grids of each provider, and of all under "".
var grids = sync.OnceValue(func() map[string][]exchange.Serving {
	by := map[string][]exchange.Serving{}
	add := func(provider string, way exchange.Serving) {
		if !slices.Contains(by[provider], way) {
			by[provider] = append(by[provider], way)
		}
	}
	for _, provider := range []string{"openai", "deepseek", "google"} {
		if s := reference()[provider]; s != nil {
			for i := range s.Grids {
				add(provider, s.Grids[i].serving())
				add("", s.Grids[i].serving())
			}
		}
	}
	return by
})

// Grids returns the grids, without lifetimes, that the requests for a model may be served by: the grids of its
// provider, or of all providers for a model that is not known. There are at most MaxGrids.
func Grids(model string) []exchange.Serving {
	by := grids()
	if own := by[promptcache.ProviderOf(model)]; len(own) > 0 {
		return own
	}
	return by[""]
}

// OnGrid reports whether a read, tokens, ends at a step of one of the known grids. Grids in a server's own tokens leave any
// read possible.
func OnGrid(grids []exchange.Serving, read int64) bool {
	counted := false
	for _, way := range grids {
		if way.Ratio > 0 {
			continue
		}
		if counted = true; (read-int64(way.Offset))%int64(way.Step) == 0 {
			return true
		}
	}
	return !counted
}
