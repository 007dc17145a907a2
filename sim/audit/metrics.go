package audit

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// WriteMetrics writes the groups as gauges in the text format of OpenMetrics 1.0, which the textfile collector of Prometheus's
// node exporter reads as well. Every metric has the names of the breakdown as labels.
func (b *Breakdown) WriteMetrics(w io.Writer) error {
	var out bytes.Buffer
	family := func(name, unit, help string, values func(g *Group, put func(label string, v float64))) {
		fmt.Fprintf(&out, "# TYPE %s gauge\n", name)
		if unit != "" {
			fmt.Fprintf(&out, "# UNIT %s %s\n", name, unit)
		}
		fmt.Fprintf(&out, "# HELP %s %s\n", name, help)
		for i := range b.Groups {
			g := &b.Groups[i]
			values(g, func(label string, v float64) {
				labels := make([]string, 0, len(b.By)+1)
				for k, by := range b.By {
					labels = append(labels, by+`="`+labelText.Replace(visible(g.Names[k]))+`"`)
				}
				if label != "" {
					labels = append(labels, `class="`+label+`"`)
				}
				fmt.Fprintf(&out, "%s{%s} %g\n", name, strings.Join(labels, ","), v)
			})
		}
	}
	one := func(of func(*Group) float64) func(*Group, func(string, float64)) {
		return func(g *Group, put func(string, float64)) { put("", of(g)) }
	}
	family("sim_cost_usd", "usd", "What calls cost at the API's prices.", one(func(g *Group) float64 { return g.USD }))
	family("sim_calls", "", "Calls of models.", one(func(g *Group) float64 { return float64(g.Calls) }))
	if b.Weighs {
		family("sim_context_tokens", "tokens", "Tokens in contexts, added up over calls.", one(func(g *Group) float64 { return float64(g.Tokens) }))
	} else {
		family("sim_misses", "", "Calls that read less from the cache than the call before had left.", one(func(g *Group) float64 { return float64(g.Misses) }))
		family("sim_miss_usd", "usd", "What writing again what was not read cost.", one(func(g *Group) float64 { return g.MissUSD }))
		family("sim_tokens", "", "Tokens by class.", func(g *Group, put func(string, float64)) {
			put("input_uncached", float64(g.Uncached))
			put("cache_read", float64(g.Read))
			put("cache_write_5m", float64(g.Write5m))
			put("cache_write_1h", float64(g.Write1h))
			put("cache_write_other", float64(g.WriteOther))
			put("output", float64(g.Output))
		})
	}
	out.WriteString("# EOF\n")
	_, err := w.Write(document.Inert(out.Bytes()))
	return err
}

// visible writes characters that a terminal would obey as their numbers, so that two names remain two.
func visible(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// labelText escapes what may not stand in the value of a label.
var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
