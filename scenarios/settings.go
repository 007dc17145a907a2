package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"gopkg.in/yaml.v3"
)

// layerSetting is the value that an environment variable gives one parameter of a layer.
type layerSetting struct {
	layer string
	path  string // of the parameter, joined by dots
	value any
}

// Bounds of variables: the most of BASH_MAX_OUTPUT_LENGTH, characters, and the bytes taken for a token of MAX_MCP_OUTPUT_TOKENS
// (assumed: as the client estimates). Documents allow 150,000 characters, but a client that puts long results to disk does so above
// 30,000 whatever the variable says (runs of Claude Code 2.1.62, 2.1.120, 2.1.250 and 2.1.332; 2.0.76, which has no such storage, sends
// what the variable allows).
const maxBashOutput, bytesPerToken = 30_000, 4

// settings returns the parameters of layers that the variables of an environment set.
func settings(a *client.Assembly) []layerSetting {
	var list []layerSetting
	e := &a.Env
	set := func(layer, path string, value any) { list = append(list, layerSetting{layer, path, value}) }
	if p, ok := client.Percent(e.AutocompactPct); ok {
		for _, layer := range []string{standard.Compact, standard.SessionMemory, standard.Microcompact} {
			set(layer, "trigger.pct_override", p)
		}
	}
	v := e.Variables()
	for _, feature := range []struct{ value, layer, path string }{
		{e.SessionMemory, standard.SessionMemory, "enabled"},
		{e.SessionCompact, standard.SessionMemory, "compact"},
		{e.Dream, standard.Dream, "enabled"},
		{e.MemoryExtraction, standard.MemoryExtraction, "enabled"},
		{e.TimeMicrocompact, standard.TimeClear, "enabled"},
		{e.CachedMicrocompact, standard.CachedClear, "enabled"},
	} {
		if feature.value != "" {
			set(feature.layer, feature.path, client.On(feature.value))
		}
	}
	// 003:2017: context collapse and automatic compaction exclude each other.
	if client.On(e.DisableAutoCompact) || client.On(e.ContextCollapse) || a.Windows.SmallOff && v.SmallAuto() {
		set(standard.Compact, "auto", false)
		set(standard.Compact, "idle.enabled", false)
		set(standard.SessionMemory, "compact", false)
	}
	if client.On(e.DisableCompact) {
		for _, layer := range []string{
			standard.Compact, standard.Microcompact, standard.TimeClear, standard.CachedClear,
		} {
			set(layer, "enabled", false)
		}
		set(standard.SessionMemory, "compact", false)
	}
	if client.On(e.MicroDisabled) {
		set(standard.Microcompact, "enabled", false)
	}
	if n, ok := client.Number(e.IdleMinTokens); ok {
		set(standard.Compact, "idle.min_tokens", n)
	}
	return append(list, storage(e)...)
}

// previewBytes is the size of the preview of a stored result (E4), bytes. If a variable
// sets a smaller limit for whole results, that limit applies to the preview too: assumed.
const previewBytes = 2000

// storage returns the parameters of stored results that the variables about output set.
func storage(e *client.Env) []layerSetting {
	var list []layerSetting
	least := int64(previewBytes)
	set := func(path string, value any) {
		list = append(list, layerSetting{standard.ToolStorage, path, value})
	}
	limit := func(path string, bytes int64) {
		set(path, bytes)
		least = min(least, bytes)
	}
	if n, ok := client.Number(e.BashMaxOutput); ok {
		limit("limits.bash", min(n, maxBashOutput))
	}
	if n, ok := client.Number(e.MCPMaxOutput); ok {
		limit("limits.mcp", n*bytesPerToken)
	}
	if limits, ok := client.ToolLimits(e.ToolLimits); ok {
		tools := map[string]int64{}
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			bytes := limits[name]
			least = min(least, bytes)
			switch name {
			case "mcp", "default":
				set("limits."+name, bytes)
			default:
				tools[name] = bytes
			}
		}
		if len(tools) > 0 {
			set("limits.tools", tools)
		}
	}
	if least < previewBytes {
		set("preview", least)
	}
	return list
}

// under returns the strategy of a variant with its layers changed by the variables of an
// environment; the same strategy when no variable concerns it.
func (x *expansion) under(e *entry, v *variant, a *client.Assembly) (*strategies.Strategy, error) {
	list := settings(a)
	if len(list) == 0 {
		return v.strategy, nil
	}
	text, err := v.strategy.YAML()
	if err != nil {
		return nil, err
	}
	tree, err := spec.Parse(text, v.strategy.Name)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, s := range list {
		x.ownLayer(&entry{body: tree.Root}, s.layer)
	}
	for _, l := range layersOf(tree.Root) {
		for _, s := range list {
			if l.key.Value != s.layer {
				continue
			}
			n, err := spec.Encode(s.value)
			if err == nil {
				err = tree.Put(l.params, n, strings.Split(s.path, ".")...)
			}
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", s.layer, s.path, err)
			}
			changed = true
		}
	}
	if !changed {
		return v.strategy, nil
	}
	s, err := x.registry.Compose(e.name, without(tree.Root, strategies.HeadKeys()...), x.tree.At(e.node))
	if err != nil {
		return nil, fmt.Errorf("%w (under client.env)", err)
	}
	s.Doc = e.doc
	return s, nil
}

// flagKeys are the keys that flags of a command set, by the name of the flag.
var flagKeys = map[string]string{
	"seed": "seed", "window": "client.window", "profile": "profile", "server": "server.name", "verify": "verify", "bound": "bound",
	"prices": "prices.file", "prices-at": "prices.at",
	"since": "sessions.since", "until": "sessions.until", "project": "sessions.project", "model": "sessions.model", "agent": "sessions.agent",
	"provider": "live.provider", "live-model": "live.model", "budget-usd": "live.budget_usd",
}

// Flag applies a flag that a command was given, with its value as pflag has it, which has a method GetSlice too for a list. Flags
// that set no key of scenarios change nothing.
func (f *File) Flag(name string, value interface {
	String() string
	Type() string
}) error {
	var given []string
	if list, ok := value.(interface{ GetSlice() []string }); ok {
		given = list.GetSlice()
	}
	origin := "--" + name
	switch name {
	case "strategy":
		if len(given) == 0 {
			return errors.New("--strategy names none")
		}
		return f.Choose(origin, given)
	case "price-as":
		var errs []error
		for i, alias := range given {
			if slices.Contains(given[:i], alias) {
				continue // reported already
			}
			from, to, err := costmodel.ParseAlias(alias)
			if err == nil {
				err = f.Set(origin, to, "prices", "as", from)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	case "open-loop":
		if value.String() != "true" {
			return nil
		}
		return f.Set(origin, sim.RefetchNever.Names()[sim.RefetchNever], "agent", "refetch")
	}
	key, ok := flagKeys[name]
	if !ok {
		return nil
	}
	var set any = value.String()
	switch {
	case given != nil:
		set = given
	case value.Type() != "string": // a number or a truth value
		if err := yaml.Unmarshal([]byte(value.String()), &set); err != nil {
			return fmt.Errorf("%s: %w", origin, err)
		}
	}
	return f.Set(origin, set, strings.Split(key, ".")...)
}

// WithGiven prepends the settings that a scenario was run with to its text, PATH=VALUE each: rows name them, the
// scenario has only their values.
func WithGiven(scenario []byte, set []string) []byte {
	var b []byte
	for _, s := range set {
		b = append(strconv.AppendQuote(append(b, "# --set "...), s), '\n')
	}
	return append(b, scenario...)
}

// settingsOf returns the settings of a session's client that its recording shows, under the generation of its version.
func settingsOf(registry *strategies.Registry, s *traces.Session, prices sim.Prices) sim.Settings {
	own, err := registry.Strategy(measures.StrategyOwn)
	if err != nil || len(s.Models) == 0 {
		return sim.Settings{}
	}
	tr := own.For(s.Agent, s.Version(), s.Variant).OwnTrigger()
	if tr == nil {
		return sim.Settings{}
	}
	limits := sim.Limits(s, sim.Compacted(s), prices)
	return sim.SettingsOf(s, tr, &limits)
}

// Followed returns the settings of its own that a session's client followed, as the compactions of the recording show, such as
// CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50, 90,000 tokens; "" for its defaults.
func Followed(registry *strategies.Registry, s *traces.Session, prices *costmodel.Table) string {
	return namesOf(settingsOf(registry, s, prices).List)
}

// foundSettings returns remarks on cells that simulate sessions under settings that their recordings show.
func foundSettings(d *Design, sessions []*traces.Session, found map[string]sim.Settings, run *results.Run) []results.Note {
	byID := map[string]*traces.Session{}
	for _, s := range sessions {
		byID[s.ID] = s
	}
	var notes []results.Note
	for i := range d.Cells {
		c := &d.Cells[i]
		at := slices.IndexFunc(run.Cells, func(r results.Cell) bool { return r.Cell == c.Name })
		if at < 0 || c.Scenario.Client.Window > 0 || c.Scenario.Client.Env.AutoCompactWindow != "" {
			continue
		}
		counts, texts, often, unfit := map[string]int{}, map[string]string{}, "", 0
		for _, row := range run.Cells[at].Rows.All() {
			s := byID[row.Session]
			if s == nil || c.Strategy.For(s.Agent, s.Version(), s.Variant).OwnTrigger() == nil {
				continue
			}
			set := found[s.ID]
			if set.Unfit {
				unfit++
			}
			if len(set.List) > 0 {
				names, text := namesOf(set.List), settingsText(set.List)
				counts[names]++
				if texts[names] == "" || text < texts[names] {
					texts[names] = text
				}
				if often == "" || counts[names] > counts[often] || counts[names] == counts[often] && names < often {
					often = names
				}
			}
		}
		n := 0
		for _, k := range counts {
			n += k
		}
		if n > 0 {
			most := ""
			if len(counts) > 1 {
				most = fmt.Sprintf(", most often (%d)", counts[often])
			}
			how := "%s under a setting that the recording shows%s: %s; the preset of the client's version has its default"
			if c.Strategy.Name != measures.StrategyOwn {
				how = "%s compacted at a size that is moved from the setting that the recording shows%s: %s; from its default in the other sessions"
			}
			notes = append(notes, results.Note{Cell: c.Name, Text: fmt.Sprintf(how, document.Count(n, "session"), most, texts[often])})
		}
		if unfit > 0 {
			notes = append(notes, results.Note{Cell: c.Name, Text: fmt.Sprintf("%s under the client's default: its compactions fit no setting", document.Count(unfit, "session"))})
		}
	}
	return notes
}

// namesOf names the settings that held, in order of time.
func namesOf(list []sim.Setting) string {
	var names []string
	for i := range list {
		names = append(names, list[i].String())
	}
	return strings.Join(names, ", then ")
}

// settingsText says which settings held, and between which sizes their thresholds lie.
func settingsText(list []sim.Setting) string {
	var parts []string
	for i := range list {
		s := &list[i]
		text := s.String()
		if s.Tokens > 0 {
			text += fmt.Sprintf(" (%s: %s tokens went on, %s compacted)", document.Count(s.Firings, "compaction"),
				numbers.Grouped(float64(s.Low), 0), numbers.Grouped(float64(s.High), 0))
		}
		if s.From > 0 {
			text = "from " + time.Unix(0, s.From).UTC().Format("2006-01-02 15:04") + " on " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
