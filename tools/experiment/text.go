package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
)

// words are all that the texts of scripts are made of.
var words = strings.Fields(`anchor basket beacon bridge bucket cable canvas carrier census channel charter chunk cipher clause
cluster column compass copper corridor counter courier crate cursor dial docket domain drain drift ember engine envelope fabric
ferry filter folder forest funnel gallery gasket gauge glacier grid harbor hatch hinge index insert island jacket journal kernel
ladder lantern layer lease ledger lever magnet margin marker meadow meter mirror module motor needle notch orbit packet panel
pebble pilot pivot planet plaza pocket portal prism pulley quarry quota radar ratchet reactor relay ribbon rocket rotor rudder
saddle sample satchel scanner sector sensor shelf signal socket spindle spiral spool stable tablet tether ticket timber tower
tracker tunnel turbine valley valve vector vessel voyage wagon window winter yarn zenith`)

// A style is what a text looks like; each has its own number of bytes for a token.
type style int

const (
	code style = iota
	prose
	config
	log
	styles
)

// A teller makes texts. Equal seeds make equal texts.
type teller struct {
	*rand.Rand
	unique int // names made so far, none of which comes twice
	series string
}

func newTeller(series string, seed uint64) *teller {
	return &teller{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), series: series}
}

func (t *teller) word() string { return words[t.IntN(len(words))] }

// name returns a name of two words that other texts may have too.
func (t *teller) name() string { return t.word() + title(t.word()) }

// fresh returns a name that no other text of the script has.
func (t *teller) fresh() string {
	t.unique++
	return fmt.Sprintf("%s%s%s%03d", t.word(), title(t.word()), title(t.series), t.unique)
}

func title(w string) string { return string(unicode.ToUpper(rune(w[0]))) + w[1:] }

// sentence returns n words.
func (t *teller) sentence(n int) string {
	w := make([]string, n)
	for i := range w {
		w[i] = t.word()
	}
	return strings.Join(w, " ")
}

// line returns one line of a style.
func (t *teller) line(s style) string {
	switch s {
	case prose:
		return title(t.sentence(8+t.IntN(10))) + "."
	case config:
		return fmt.Sprintf("  %q: {%q: %d, %q: %q},", t.name(), t.word(), t.IntN(9000), t.word(), t.name())
	case log:
		return fmt.Sprintf("%02d:%02d:%02d.%03d %s %s/%s: %s=%d %s", t.IntN(24), t.IntN(60), t.IntN(60), t.IntN(1000),
			[]string{"INFO", "WARN", "PASS", "FAIL"}[t.IntN(4)], t.word(), t.word(), t.word(), t.IntN(99999), t.sentence(3))
	}
	switch t.IntN(4) {
	case 0:
		return fmt.Sprintf("\t%s, err := %s.%s(%s)", t.word(), t.word(), title(t.name()), t.name())
	case 1:
		return fmt.Sprintf("\tif %s.%s() >= %d {", t.word(), title(t.word()), t.IntN(900))
	case 2:
		return fmt.Sprintf("\t\treturn fmt.Errorf(\"%s: %%w\", err)", t.sentence(3))
	}
	return fmt.Sprintf("\t// %s", t.sentence(5+t.IntN(6)))
}

// lines returns at least n bytes of a style, with each of marks on a line of its own at even distances.
func (t *teller) lines(s style, n int, marks ...string) string {
	var b strings.Builder
	for i := 0; b.Len() < n || i < len(marks); {
		if i < len(marks) && b.Len() >= n*(2*i+1)/(2*len(marks)) {
			b.WriteString(marks[i] + "\n")
			i++
			continue
		}
		b.WriteString(t.line(s) + "\n")
	}
	return b.String()
}

// summary returns the text of a thread's k-th summary. Their lengths differ.
func (th *Thread) summary(k int) string {
	t := newTeller("", th.Seed<<8|uint64(k))
	var b strings.Builder
	fmt.Fprintf(&b, "Summary %d of thread:%s\n", k+1, th.Name)
	for _, part := range []string{"Task", "Done", "Open", "Next"} {
		fmt.Fprintf(&b, "## %s\n", part)
		for range 6 + t.IntN(14) {
			b.WriteString("- " + t.line(prose) + "\n")
		}
	}
	return b.String()
}
