package reports

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// claimFindings are one claim of each verdict.
func claimFindings() []studies.Finding {
	off := 600.0
	read := studies.Figure{Without: &off, Otherwise: "at least 500 tokens", OtherwiseHolds: true, Name: "read_back", Value: 1200, Unit: results.UnitTokens, Claimed: "at least 1,000 tokens", Holds: true, Hand: "2 × 600", ByHand: 1200}
	cost := studies.Figure{Name: "cost", Value: 0.06, Unit: results.UnitUSD, Claimed: "about $0.003"}
	plain := studies.Figure{Name: "free", Value: 3, Unit: results.UnitCalls}
	return []studies.Finding{
		{Without: []string{"a=1"}, ID: "first", Claim: "It reads back.", Source: "000:1", Scenario: "claims/one", Figures: []studies.Figure{read, plain}, Reason: "Since it is there | in 3 calls."},
		{ID: "second", Claim: "It is cheap.", Source: "001:2", Scenario: "claims/one", Figures: []studies.Figure{cost}, Reason: "It is not."},
		{ID: "third", Claim: "Both.", Source: "002:3", Scenario: "claims/two", Figures: []studies.Figure{read, cost}, Reason: "One of them."},
	}
}

func claimsIn(t *testing.T, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Claims(claimFindings()).Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// People get claim, source, what was claimed figures and verdict in a line, and
// behind the table the reason, every figure and the way to run it.
func TestClaimsForPeople(t *testing.T) {
	for format, want := range map[string][]string{
		"table": {
			"third   partly      Both.           1,200 tokens; $0.0600  600 tokens; none  002:3",
			"3 claims: 1 reproduced, 1 partly, 1 refuted",
			"first: reproduced\nSince it is there | in 3 calls.\n" +
				"  read back: 1,200 tokens, claimed to be at least 1,000 tokens: it is; by hand 2 × 600 = 1,200 tokens; without\n" +
				"  600 tokens, claimed to be at least 500 tokens: it is\n" +
				"  free: 3 calls; without none\n  without: a=1: refuted\n  sim run claims/one\n",
			"cost: $0.0600, claimed to be about $0.003: it is not",
		},
		"markdown": {
			"### first: reproduced\n\nSince it is there \\| in 3 calls.\n\n- read back: 1,200 tokens",
			"- sim run claims/two\n",
		},
	} {
		text := claimsIn(t, format)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%s", format, w, text)
			}
		}
	}
}

// Machines get every figure with its value.
func TestClaimsForMachines(t *testing.T) {
	records, err := csv.NewReader(strings.NewReader(claimsIn(t, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 1+5 || records[1][5] != "read_back" || records[1][6] != "1200" || records[3][4] != "refuted" {
		t.Errorf("%q", records)
	}
	var list []struct {
		ID      string           `json:"id"`
		Verdict string           `json:"verdict"`
		Figures []studies.Figure `json:"figures"`
	}
	if err := json.Unmarshal([]byte(claimsIn(t, "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[2].Verdict != "partly" || list[2].Figures[1].Value != 0.06 {
		t.Errorf("%+v", list)
	}
	if err := Claims(nil).Write(&bytes.Buffer{}, "xml"); err == nil {
		t.Error("an unknown format was written")
	}
}
