package explain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/study/studies"
)

// The head gives the model's total, $1.50, of which $0.30 no log shows, against
// the bill of $1.00: an error of +20 %. Of two calls of 100,000 tokens the one
// that read 10,001 more as logged is told so, the one with 10,000 is not.
func TestExplainTellsWhatWasLogged(t *testing.T) {
	e := &studies.Explanation{Session: "one", Strategy: "recorded", Calls: []studies.ExplainedCall{
		{Number: 1, Context: 100_000, Read: 50_000, CostUSD: 0.6, Miss: "none"},
		{Number: 2, Context: 100_000, Read: 50_000, CostUSD: 0.6, Miss: "expiry"},
		{Number: 3, Context: 100_000, CostUSD: 0.3, Miss: "none", Layer: "recorded"},
	}}
	text := func(o Options) string {
		var b bytes.Buffer
		d, err := Document(e, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Write(&b, "table"); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	logged := Logged{USD: 1, Reads: []int64{60_000, 60_001, -1}}
	list := text(Options{All: true, Logged: logged})
	for _, want := range []string{
		"simulated: $1.50 in all, billed $1.00; $0.30 of it for calls no log shows; model error +20.0 %; 1 call read another amount as logged",
		"miss: expiry after 0 s; logged: read 60,001",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in %s", want, list)
		}
	}
	if strings.Contains(list, "logged: read 60,000") || strings.Contains(list, "read -1") {
		t.Error(list)
	}
	if one := text(Options{Call: 1, Logged: logged}); !strings.Contains(one, "the recording read 60,000") {
		t.Error(one)
	}
	if other := text(Options{Logged: Logged{USD: 1}}); strings.Contains(other, "model error") || !strings.Contains(other, "billed $1.00") {
		t.Error(other)
	}
}
