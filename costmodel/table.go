package costmodel

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

//go:embed prices.yaml
var embedded []byte

// Table lists models and their prices. It is immutable: the methods that
// change something return another table. The zero Table knows no model.
type Table struct {
	asOf    time.Time
	digest  string            // of the file read last, hexadecimal
	list    string            // whose published list was read last, and its day; "" for a file of the program's own form
	models  map[string]*Model // by lower-case canonical name
	aliases map[string]string // other names of the same model → key in models
	priceAs map[string]string // names billed as another model → key in models; before all else
	// spellings has what spell returns, by name: simulations look the same few names up for every session and strategy.
	spellings sync.Map
	unknowns  sync.Map // what unknown returns, by name
}

var defaultTable = sync.OnceValues(func() (*Table, error) {
	return Load(bytes.NewReader(embedded), "prices.yaml")
})

// Default returns the table built into the program. It is parsed at the first
// call; the error can only be a defect of the build, and a test excludes it.
func Default() (*Table, error) { return defaultTable() }

// AsOf returns the date the table's newest facts were collected at: "today"
// for reproducible runs. Zero when the table does not say.
func (t *Table) AsOf() time.Time { return t.asOf }

// Stale returns the date the facts were collected at, in words for behind "prices", if a call
// of that time is more than 30 days younger; "" otherwise, and for a table without a date.
func (t *Table) Stale(last time.Time) string {
	const month = 30 * 24 * time.Hour
	if t.asOf.IsZero() || last.Sub(t.asOf) <= month {
		return ""
	}
	return " as of " + t.asOf.Format(time.DateOnly)
}

// Digest returns the SHA-256 of the price file the table was read from, in
// hexadecimal as sha256sum prints it: it distinguishes files of one name. A
// merged table has the digest of the file merged last, an empty one none.
func (t *Table) Digest() string { return t.digest }

// Key identifies what calls cost: tables of one key price every call alike.
func (t *Table) Key() string {
	h := sha256.New()
	fmt.Fprintln(h, t.asOf.UnixNano())
	for _, names := range []map[string]string{t.aliases, t.priceAs} {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			fmt.Fprintf(h, "%q is %q\n", name, names[name])
		}
		fmt.Fprintln(h)
	}
	for _, name := range slices.Sorted(maps.Keys(t.models)) {
		m := t.models[name]
		fmt.Fprintf(h, "%q %v\n", name, []any{m.Window, m.MaxInput, m.MaxOutput, m.MinCache, m.Batch, m.GeoUS, m.Regional})
		for _, p := range m.periods {
			fmt.Fprintln(h, p.from.UnixNano(), p.fast, p.storage, p.search, p.rate)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Names returns the canonical names of all models, sorted.
func (t *Table) Names() []string {
	var names []string
	for _, m := range t.models {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// Lookup returns what a model costs at a time. Names resolve as recorded: in
// any case, with a date ("claude-opus-4-5-20251101", "…@20251101"), a route
// ("anthropic/…", "opencode/…", "anthropic:…", ":beta"), the decorations of a cloud platform
// ("us.anthropic.…-v1:0"), the suffix "[1m]", an effort ("-high", "-thinking"), terms of
// service ("[fast]", "-fast", "[us]", "[batch]", ":batch", ":free"), whose
// multipliers the price then includes, or an older order of the parts
// ("claude-3-5-haiku", "claude-4.5-sonnet"). The longest form of the name that
// the table has wins. For a zero time the prices are the ones at AsOf, or the
// newest listed if the table has no such date. The error is an
// [*UnknownModelError].
//
// Before the first listed date of a model its first prices hold, for want of
// others: see [Price.Early].
func (t *Table) Lookup(model string, at time.Time) (Price, error) {
	s := t.spellOnce(model)
	m, terms := t.resolve(s)
	if m == nil {
		return Price{}, t.unknown(model, s)
	}
	if at.IsZero() {
		at = t.asOf
	}
	if at.IsZero() {
		at = m.periods[len(m.periods)-1].from
	}
	p := m.price(at)
	p.LongContext, p.Regional = s.longContext, s.regional
	for _, term := range terms {
		factor := p.factor(term)
		if factor == 0 && term != "free" {
			return Price{}, t.unknown(model, s)
		}
		p.rate = p.rate.times(factor)
	}
	return p, nil
}

// factor returns what prices are multiplied by under a term, 0 where the table has no rate for it.
func (p *Price) factor(term string) float64 {
	switch term {
	case "fast":
		return p.Fast
	case "us":
		return p.Model.GeoUS
	case "batch":
		return p.Model.Batch
	}
	return 0
}

// resolve returns the model of a name, nil for none, and the terms that the name has besides.
func (t *Table) resolve(s *spelling) (*Model, []string) {
	for _, form := range s.forms {
		if m := t.models[t.priceAs[form.name]]; m != nil {
			return m, form.terms
		}
	}
	return t.listed(s)
}

// listed resolves a name without the aliases of --price-as.
func (t *Table) listed(s *spelling) (*Model, []string) {
	for _, form := range s.forms {
		if m := t.models[form.name]; m != nil {
			return m, form.terms
		}
		if m := t.models[t.aliases[form.name]]; m != nil {
			return m, form.terms
		}
	}
	return nil, nil
}

// unknown returns the error for a model without a price, which looks for the nearest names once: a simulation asks for the price of
// every model at the beginning of every session.
func (t *Table) unknown(model string, s *spelling) error {
	if e, ok := t.unknowns.Load(model); ok {
		return e.(error)
	}
	e := &UnknownModelError{Model: model, Near: nearest(s.plain(), t.Names(), maxNear)}
	t.unknowns.Store(model, e)
	return e
}

// Merge returns t with the models of over added. A model that both have keeps the facts
// that over does not state, and takes all its prices from over. A longer spelling of a
// model of t ("claude-opus-4-6-20260205") becomes a model of its own that starts from the
// same facts.
//
// A published list has the price of its day alone: prices of t that end before it or begin after it stay, and so does
// what a list leaves out of fast mode, storage and searches.
func (t *Table) Merge(over *Table) *Table {
	out := t.clone()
	if over.asOf.After(out.asOf) {
		out.asOf = over.asOf
	}
	if over.digest != "" {
		out.digest, out.list = over.digest, over.list
	}
	for _, k := range slices.Sorted(maps.Keys(over.models)) {
		m := over.models[k]
		merged := *m
		s := spell(m.Name)
		old, terms := t.listed(&s)
		if old != nil {
			merged.inherit(old)
		}
		out.models[k] = &merged
		if over.list == "" || old == nil || len(terms) > 0 || strings.ContainsAny(m.Name, "/:@") || platformPrefix.MatchString(k) {
			continue
		}
		merged.complete(old, over.asOf)
		if own := fold(old.Name); own != k && over.models[own] == nil { // the list spells the name otherwise
			renamed := merged
			renamed.Name = old.Name
			out.models[own] = &renamed
		}
	}
	maps.Copy(out.aliases, over.aliases)
	maps.Copy(out.priceAs, over.priceAs)
	return out
}

func (m *Model) inherit(old *Model) {
	inherit(&m.Provider, old.Provider)
	inherit(&m.Window, old.Window)
	inherit(&m.MaxInput, old.MaxInput)
	inherit(&m.MaxOutput, old.MaxOutput)
	inherit(&m.MinCache, old.MinCache)
	inherit(&m.Batch, old.Batch)
	inherit(&m.GeoUS, old.GeoUS)
	inherit(&m.Regional, old.Regional)
}

// complete gives a model of a list that was published on a day what the list leaves out. A list that states the input
// alone has the input in place of the window.
func (m *Model) complete(old *Model, published time.Time) {
	if m.Window == old.MaxInput {
		m.Window = old.Window
	}
	at := len(old.periods) - 1
	for at > 0 && !published.IsZero() && old.periods[at].from.After(published) {
		at--
	}
	m.periods = slices.Clone(m.periods)
	for i := range m.periods {
		inherit(&m.periods[i].fast, old.periods[at].fast)
		inherit(&m.periods[i].storage, old.periods[at].storage)
		inherit(&m.periods[i].search, old.periods[at].search)
	}
	if m.undated {
		m.periods[0].from = old.periods[at].from
		m.periods = slices.Concat(old.periods[:at], m.periods[:1], old.periods[at+1:])
	}
}

func inherit[T comparable](v *T, old T) {
	var zero T
	if *v == zero {
		*v = old
	}
}

// WithAliases returns t with names billed as other models: for each key the
// prices and facts of its value, whether or not t knows the key. A key also
// covers its longer spellings (dates, routes). Values are resolved against t
// without aliases, so two models can trade places. The error wraps an
// [*UnknownModelError] for the first value, in order, that has no price.
func (t *Table) WithAliases(priceAs map[string]string) (*Table, error) {
	out := t.clone()
	for _, from := range slices.Sorted(maps.Keys(priceAs)) {
		to := spell(priceAs[from])
		m, _ := t.listed(&to)
		if m == nil {
			return nil, fmt.Errorf("bill %s as %s: %w", from, priceAs[from], t.unknown(priceAs[from], &to))
		}
		out.priceAs[fold(from)] = fold(m.Name)
	}
	return out, nil
}

// fold returns the form of a name the maps of a table use.
func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// ParseAlias splits "A=B", the value of --price-as: bill A as B.
func ParseAlias(s string) (from, to string, err error) {
	from, to, ok := strings.Cut(s, "=")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !ok || from == "" || to == "" {
		return "", "", fmt.Errorf("--price-as %q: want A=B, a recorded model and the model to bill it as", s)
	}
	return from, to, nil
}

func (t *Table) clone() *Table {
	out := &Table{
		asOf:    t.asOf,
		digest:  t.digest,
		list:    t.list,
		models:  make(map[string]*Model, len(t.models)),
		aliases: make(map[string]string, len(t.aliases)),
		priceAs: make(map[string]string, len(t.priceAs)),
	}
	maps.Copy(out.models, t.models)
	maps.Copy(out.aliases, t.aliases)
	maps.Copy(out.priceAs, t.priceAs)
	return out
}

// Model is what a table knows about a model besides its prices. A zero figure
// means that no source states it.
type Model struct {
	Name      string // canonical name, as listed in the table
	Provider  string // "anthropic", "openai", "google", "deepseek", or what a price file says
	Window    int    // tokens of input and output together
	MaxInput  int    // input tokens of a request, where they have a limit of their own below the window; 0 for none
	MaxOutput int    // output tokens a response may hold
	MinCache  int    // tokens a prefix needs to be cached
	// Multipliers on all classes, 0 where the model does not have the option.
	Batch    float64 // batch processing
	GeoUS    float64 // inference restricted to the United States
	Regional float64 // a regional or multi-region endpoint, or regional processing

	periods []period // ascending by from; the first holds for all earlier time too
	undated bool     // of a published list without dates
}

// period is what a model costs from one date to the next.
type period struct {
	from    time.Time // zero for a first one whose date is not known
	fast    float64   // multiplier of fast mode, 0 when not offered
	storage float64   // USD per million tokens and hour
	search  float64   // USD per thousand searches
	unread  bool      // no price of reads is listed
	rate    Rate
}

// searches is the number of searches that a listed price is for.
const searches = 1000

// Price is what a model costs at one time.
type Price struct {
	Model Model
	From  time.Time // start of the period these prices are listed for; zero if open
	Until time.Time // end of that period, exclusive; zero if open
	// Fast is the multiplier of fast mode in this period, 0 when the model
	// refuses it, 1 when it accepts the option and runs at standard speed.
	Fast float64
	// StoragePerMTokHour is what an explicitly created cache costs while it
	// is kept, USD per million tokens and hour; 0 when there is no such fee.
	StoragePerMTokHour float64
	// Search is what a search of the web by the server costs beside the tokens of its
	// call, USD; 0 when no source states it.
	Search float64
	// ReadAsInput says that no price of reads is listed: they are billed as input.
	ReadAsInput bool
	// LongContext is set for a name that ended in "[1m]": the client
	// asked for the 1M window.
	LongContext bool
	// Regional is set for the name of a regional or
	// multi-region endpoint ("us.anthropic.…"). The price does not include
	// the surcharge.
	Regional bool

	rate Rate
}

// Early reports whether at precedes all prices that the table lists for the model; p has the first
// price.
func (p *Price) Early(at time.Time) bool { return at.Before(p.From) }

// Standard returns the rate.
func (p *Price) Standard() Rate { return p.rate }

// Cost returns what one call costs, USD by class; see
// [Rate.Cost].
func (p *Price) Cost(u prompt.Usage) [numClasses]float64 { return p.rate.Cost(&u) }

func (m *Model) price(at time.Time) Price {
	i := len(m.periods) - 1
	for i > 0 && at.Before(m.periods[i].from) {
		i--
	}
	d := &m.periods[i]
	p := Price{Model: *m, From: d.from, Fast: d.fast, StoragePerMTokHour: d.storage, Search: d.search / searches, ReadAsInput: d.unread, rate: d.rate}
	if i+1 < len(m.periods) {
		p.Until = m.periods[i+1].from
	}
	return p
}
