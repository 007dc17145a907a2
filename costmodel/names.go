package costmodel

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	near "github.com/compactsim/compactsim/internal/kit/nearest"
)

// spelling is a model name as recorded, taken apart.
type spelling struct {
	forms       []form   // names to look for, the most specific first
	terms       []string // taken off the name so far: "fast", "us", "batch", "free"
	longContext bool     // has "[1m]" at its end
	regional    bool     // had a regional prefix of a cloud platform
}

// form is a name that the table may have, with the terms of service that were taken off it.
type form struct {
	name  string
	terms []string
}

var (
	// us.anthropic.claude-opus-4-5-20251101-v1:0: region, vendor, then the
	// name. "global." is priced like the provider's own endpoint.
	platformPrefix = regexp.MustCompile(`^(?:(us|us-gov|eu|apac|jp|au|ca|regional|global)\.)?(anthropic|openai|google|deepseek)\.`)
	platformSuffix = regexp.MustCompile(`-v[0-9]+(:[0-9]+k?)*$`)
	// anthropic:claude-sonnet-4-5, databricks-claude-opus-4-1: what a library or a gateway
	// puts before the name.
	gatewayPrefix = regexp.MustCompile(`^(?:[a-z][a-z_-]*:|databricks-|openai-|anthropic-)`)
	// claude-opus-5:batch, deepseek-chat:free, gpt-5.5:nitro: how a gateway routes the call.
	routeSuffix   = regexp.MustCompile(`:(batch|free|beta|nitro|floor|online|extended|exacto|thinking)$`)
	fastSuffix    = regexp.MustCompile(`-(fast|priority)$`)
	dateSuffix    = regexp.MustCompile(`-(20[0-9]{6}|20[0-9]{2}-[0-9]{2}-[0-9]{2}|(?:0[1-9]|1[0-2])[0-3][0-9]|latest|default)$`)
	previewSuffix = regexp.MustCompile(`-(preview-[0-9]{2}-20[0-9]{2}|00[0-9])$`)
	// gpt-5.3-codex-high, claude-opus-4-5-thinking: how much the model thinks, at its price.
	effortSuffix = regexp.MustCompile(`-(none|minimal|low|medium|high|xhigh|max|thinking)$`)

	// claude-4-5-sonnet, claude-3.7-sonnet, claude-4-opus: version first.
	claudeOld = regexp.MustCompile(`^claude-([0-9])(?:[-.]([0-9]))?-([a-z]+)$`)
	// claude-opus-4.5, claude-sonnet-4-0.
	claudeNew = regexp.MustCompile(`^claude-([a-z]+)-([0-9])(?:[-.]([0-9]))?$`)
	// gpt-5-3-codex, gemini-2-5-pro, deepseek-v4-1-flash.
	dashed = regexp.MustCompile(`^(gpt-|gemini-|deepseek-v)([0-9])-([0-9])(-.*)?$`)
)

// spellOnce is spell for names that are looked up again and again. What it returns is shared.
func (t *Table) spellOnce(name string) *spelling {
	if s, ok := t.spellings.Load(name); ok {
		return s.(*spelling)
	}
	s := spell(name)
	t.spellings.Store(name, &s)
	return &s
}

// spell lists the names that a recorded name may stand for: the name itself, then without
// the window suffix, the route, the platform's decorations, the date and the effort, each
// also in the table's own spelling.
func spell(name string) spelling {
	var s spelling
	n := fold(name)
	s.add(n)
	for strings.HasSuffix(n, "]") {
		at := strings.LastIndexByte(n, '[')
		if at < 0 {
			break
		}
		if term := n[at+1 : len(n)-1]; term == "1m" {
			s.longContext = true
		} else {
			s.terms = append(s.terms, term)
		}
		n = strings.TrimSpace(n[:at])
		s.add(n)
	}
	n = n[strings.LastIndexByte(n, '/')+1:]
	s.add(n)
	if before, _, ok := strings.Cut(n, "@"); ok {
		n = before
		s.add(n)
	}
	if m := routeSuffix.FindStringSubmatch(n); m != nil {
		if m[1] == "batch" || m[1] == "free" {
			s.terms = append(s.terms, m[1])
		}
		n = strings.TrimSuffix(n, m[0])
		s.add(n)
	}
	if m := gatewayPrefix.FindString(n); m != "" {
		n = n[len(m):]
		s.add(n)
	}
	m := platformPrefix.FindStringSubmatch(n)
	if m != nil {
		s.regional = m[1] != "" && m[1] != "global"
		n = n[len(m[0]):]
		s.add(n)
	}
	if m != nil || strings.Contains(n, ":") {
		n = platformSuffix.ReplaceAllString(n, "")
		s.add(n)
	}
	for _, suffix := range []*regexp.Regexp{fastSuffix, dateSuffix, previewSuffix, effortSuffix} {
		if suffix == fastSuffix && suffix.MatchString(n) {
			s.terms = append(s.terms, "fast")
		}
		n = suffix.ReplaceAllString(n, "")
		s.add(n)
		s.add(respell(n))
	}
	return s
}

func (s *spelling) add(n string) {
	if n != "" && (len(s.forms) == 0 || s.forms[len(s.forms)-1].name != n) {
		s.forms = append(s.forms, form{n, slices.Clip(s.terms)})
	}
}

// plain returns the last form: the name without decorations.
func (s *spelling) plain() string {
	if len(s.forms) == 0 {
		return ""
	}
	return s.forms[len(s.forms)-1].name
}

// respell brings a bare name into the table's spelling: family before version
// and dashes for Claude, a dotted version for all other models.
func respell(n string) string {
	if m := claudeOld.FindStringSubmatch(n); m != nil {
		return claudeName(m[3], m[1], m[2])
	}
	if m := claudeNew.FindStringSubmatch(n); m != nil {
		return claudeName(m[1], m[2], m[3])
	}
	if m := dashed.FindStringSubmatch(n); m != nil {
		return m[1] + m[2] + "." + m[3] + m[4]
	}
	return n
}

func claudeName(family, major, minor string) string {
	n := "claude-" + family + "-" + major
	if minor != "" && minor != "0" {
		n += "-" + minor
	}
	return n
}

// UnknownModelError is the error of a model without a price in the table.
type UnknownModelError struct {
	Model string   // the name as asked for
	Near  []string // names the table has, the most similar first; at most three, possibly none
}

// Error names the model and the names near it. What to do about it
// is left to the caller: a flag or a key.
func (e *UnknownModelError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no price for model %q", e.Model)
	}
	return fmt.Sprintf("no price for model %q; near names: %s", e.Model, strings.Join(e.Near, ", "))
}

// maxNear is the number of suggestions in an UnknownModelError.
const maxNear = 3

// nearest returns up to n of the names similar to s, the most similar first. A name is
// similar when at most half of s differs, or s contains it. A long common beginning
// counts in favour, as it holds the family and version of a model.
func nearest(s string, names []string, n int) []string {
	if len(s) > 100 {
		return nil
	}
	type scored struct {
		name string
		rank int
	}
	var found []scored
	for _, name := range names {
		if d := near.Distance(s, name); d <= len(s)/2 || strings.Contains(s, name) {
			found = append(found, scored{name, 2*d - commonPrefix(s, name)})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
