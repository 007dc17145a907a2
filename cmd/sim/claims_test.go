package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateClaims = flag.Bool("update", false, "rewrite docs/claims.md")

// claimsMark stands between the introduction of docs/claims.md and what sim
// prints.
const claimsMark = "<!-- sim scenarios run claims --format markdown -->\n"

// The document of claims is what sim prints behind its introduction.
func TestClaimsDocument(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "docs", "claims.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	introduction, table, ok := strings.Cut(string(text), claimsMark)
	if !ok || strings.TrimSpace(introduction) == "" {
		t.Fatalf("%s has no introduction, or no line %q", file, claimsMark)
	}
	var out, errs bytes.Buffer
	args := []string{"scenarios", "run", "claims", "--format", "markdown"}
	if code := execute(context.Background(), args, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if *updateClaims {
		if err := os.WriteFile(file, []byte(introduction+claimsMark+out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != out.String() {
		t.Errorf("%s is not what sim prints: go test ./cmd/sim -run TestClaimsDocument -update", file)
	}
}

// A scenario of a claim is one like others: it can be shown and run by hand, and
// what is asked wrongly is a mistake of the command line.
func TestClaimsByHand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"scenarios show claims/request-cost", exitOK, "id: request-cached"},
		{"run claims/lifetime", exitOK, "2 sessions"},
		{"scenarios run", exitUsage, "takes one argument"},
		{"scenarios run claims/request-cost", exitOK, "2 claims: 1 reproduced, 0 partly, 1 refuted"},
		{"scenarios run skip-cache-write --set full-compact.fork.skip_cache_write=false", exitOK, "1 claim: 0 reproduced, 0 partly, 1 refuted"},
		{"scenarios run skip-cache-right", exitUsage, `did you mean "skip-cache-write"`},
		{"scenarios run claims --format xml", exitUsage, "xml"},
		{"scenarios show claims/request-cots", exitUsage, `did you mean "claims/request-cost"`},
		{"run made:turn", exitUsage, `did you mean "made:turns"`},
	} {
		var out, errs bytes.Buffer
		code := execute(context.Background(), strings.Fields(tc.args), strings.NewReader(""), &out, &errs)
		if code != tc.code || !strings.Contains(out.String()+errs.String(), tc.want) {
			t.Errorf("sim %s: exit %d, %s%s; want %d and %q", tc.args, code, out.String(), errs.String(), tc.code, tc.want)
		}
	}
}
