package fleet

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/compactsim/compactsim/internal/study/studies"
)

// Adding people and organisations leaves the sessions of the others as they are.
func TestOthersKeepTheirSessions(t *testing.T) {
	const acme = "  - {name: acme, users: %, resume: 0.3, mcp: 0.5, kinds: {subscriber: 0.5, api: 0.5}, overage: {share: 0.5}}\n"
	few := parse(t, "schema: 1\norgs:\n"+string(bytes.ReplaceAll([]byte(acme), []byte("%"), []byte("3"))))
	more := parse(t, "schema: 1\norgs:\n  - {name: birch, users: 2}\n"+string(bytes.ReplaceAll([]byte(acme), []byte("%"), []byte("5"))))
	a, b := generate(t, few), generate(t, more)
	from := 0
	for from < len(b.Sessions) && b.people[b.of[from].user].org == 0 {
		from++
	}
	for i, s := range a.Sessions {
		if !reflect.DeepEqual(s, b.Sessions[from+i]) {
			t.Fatalf("session %d is another once there are more people", i)
		}
	}
	for u := range a.people {
		p, q := a.people[u], b.people[2+u]
		if q.org--; !reflect.DeepEqual(p, q) {
			t.Errorf("user %d: %+v, and with more people %+v", u, p, q)
		}
	}
}

func generate(t testing.TB, f *File) *Population {
	t.Helper()
	p, err := f.Generate(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Organisations that share nothing do not change each other's figures.
func TestOrganisationsAreIndependent(t *testing.T) {
	const acme = "  - {name: acme, users: 6, resume: 0.2, sessions: {per_user_day: 2, turns: {min: 3}}}\n"
	const birch = "  - {name: birch, users: 5, sessions: {per_user_day: 2, turns: {min: 3}}}\n"
	const head = "schema: 1\ncompare: []\nclient: {global_scope: false}\norgs:\n"
	alone := simulate(t, parse(t, head+acme)).Cells[0]
	both := simulate(t, parse(t, head+birch+acme)).Cells[0]
	if !reflect.DeepEqual(alone.Orgs[0], both.Orgs[1]) {
		t.Errorf("acme has %+v by itself and %+v beside birch", alone.Orgs[0].Metrics, both.Orgs[1].Metrics)
	}
	if shared := simulate(t, parse(t,
		"schema: 1\ncompare: []\norgs:\n"+birch+acme)).Cells[0]; shared.Orgs[1].Row.Usage() == alone.Orgs[0].Row.Usage() {
		t.Error("with a scope for everyone, birch makes no difference to acme: the test has no force")
	}
}

// The same result however many cores work.
func TestDeterministic(t *testing.T) {
	text := func(procs, workers int) *studies.Fleet {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		f, err := Load("office", Inputs{})
		if err != nil {
			t.Fatal(err)
		}
		r := runner(t)
		r.Workers, r.Verify = workers, false
		out, err := r.Run(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := text(1, 1)
	for _, n := range []int{2, 7} {
		if got := text(n, n); !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers make another result", n)
		}
	}
}

// Users are of the kinds in their shares, within four standard errors.
func TestKindsHaveTheirShares(t *testing.T) {
	f := parse(t, `schema: 1
orgs:
  - name: acme
    users: 4000
    kinds: {employee: 0.05, subscriber: 0.6, api: 0.25, bedrock: 0.04, third_party: 0.06}
    mcp: 0.3
    sessions: {per_user_day: 1, turns: {min: 1}, rounds: {min: 1}}
`)
	p := generate(t, f)
	got := p.Orgs()[0]
	want := f.Orgs[0].Kinds
	for kind, share := range want {
		if d := math.Abs(float64(got.Kinds[kind])/4000 - share); d > 4*math.Sqrt(share*(1-share)/4000) {
			t.Errorf("%d of 4,000 users are %s, want a share of %g", got.Kinds[kind], kind, share)
		}
	}
	if d := math.Abs(float64(got.MCP)/4000 - 0.3); d > 4*math.Sqrt(0.3*0.7/4000) {
		t.Errorf("%d of 4,000 users load tools of servers, want a share of 0.3", got.MCP)
	}
}

// A run that is cancelled says so, and one that is not tells how far it is.
func TestCancelled(t *testing.T) {
	f := parse(t, "schema: 1\norgs:\n  - {name: acme, users: 4}\n  - {name: birch, users: 4}\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := runner(t).Run(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := runner(t).Simulate(ctx, generate(t, f)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	r := runner(t)
	var last, total atomic.Int64
	r.Done = func(finished, of int) {
		total.Store(int64(of))
		for n := last.Load(); n < int64(finished) && !last.CompareAndSwap(n, int64(finished)); n = last.Load() {
		}
	}
	p := generate(t, f)
	if _, err := r.Simulate(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if want := int64(2 * len(p.Sessions)); last.Load() != want || total.Load() != want {
		t.Errorf("%d of %d sessions done, want %d: as it is and without the global scope", last.Load(), total.Load(), want)
	}
}

// Strategies that are not known are told before anything is simulated.
func TestUnknownStrategy(t *testing.T) {
	f := parse(t, "schema: 1\nstrategies: [nonne]\norgs:\n  - {name: acme, users: 1}\n")
	if _, err := runner(t).Run(context.Background(), f); err == nil || !strings.Contains(err.Error(), `did you mean "none"?`) {
		t.Errorf("error %v", err)
	}
}
