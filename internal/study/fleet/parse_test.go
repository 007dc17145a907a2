package fleet

import (
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// What a fleet cannot be, with the line it stands on.
func TestParseRefuses(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	files := unending{"bad.txt": {Data: []byte("1h\n# of whom\n2h nobody\n")}, "empty.txt": {Data: []byte("# none\n")}}
	acme := func(keys string) string { return "schema: 1\norgs:\n  - name: acme\n    users: 2\n    " + keys + "\n" }
	for text, want := range map[string]string{
		"schema: 2\norgs:\n  - {name: acme, users: 1}": "f.yaml:1: schema: 2 is not the format of this version: want 1",
		"schema: 1": "f.yaml:1: orgs: name at least one organisation",
		"schema: 1\nseeed: 2\norgs:\n  - {name: a, users: 1}":                             `f.yaml:2: unknown key "seeed" (did you mean "seed"?)`,
		"schema: 1\nstart: now\norgs:\n  - {name: a, users: 1}":                           `f.yaml:2: start: want a time such as 2026-03-02T09:00:00Z, not "now"`,
		"schema: 1\ndays: 0\norgs:\n  - {name: a, users: 1}":                              "f.yaml:2: days 0 must lie in 1…366",
		"schema: 1\ndays: 2147483648\norgs:\n  - {name: a, users: 1}":                     "f.yaml:2: days 2147483648 must lie in 1…366",
		"schema: 1\ndays: 9999\norgs:\n  - {name: a, users: 1}":                           "f.yaml:2: days 9999 must lie in 1…366",
		"schema: 1\nprices_at: soon\norgs:\n  - {name: a}":                                `f.yaml:2: prices_at: "soon": want call or a date`,
		"schema: 1\nstrategies: [nonne]\norgs:\n  - {name: a}":                            `f.yaml:2: strategies[0]: unknown strategy "nonne" (did you mean "none"?)`,
		"schema: 1\nstrategies: [recorded]\norgs:\n  - {name: a}":                         "f.yaml:2: strategies[0]: a fleet has no recording",
		"schema: 1\ncompare: [overrage]\norgs:\n  - {name: a}":                            `f.yaml:2: compare[0]: unknown value "overrage" (did you mean "overage"?)`,
		"schema: 1\nserver:\n  lifetime_5m: 2h\norgs: []":                                 "f.yaml:3: server.lifetime_5m: longer than lifetime_1h",
		"schema: 1\nclient:\n  system:\n    split: none\norgs: []":                        "f.yaml:4: client.system.split: global_scope wants the system prompt in sections",
		"schema: 1\nclient: {system: {mcp: prefx}}\norgs: []":                             `f.yaml:2: client.system.mcp: unknown value "prefx"`,
		"schema: 1\nupgrades: [{at: 30h}]\norgs: []":                                      "f.yaml:2: upgrades[0].at: 30h0m0s must lie in 0s…24h0m0s",
		"schema: 1\nupgrades: [{at: 1h, static: -30000}]\norgs:\n  - {name: a, users: 1}": "f.yaml:2: upgrades[0].static: leaves -10000 tokens of tools and system prompt of organisation a",
		acme("sessions: {static: 1100}\nupgrades: [{at: 1h, static: -1101}]"):             "f.yaml:6: upgrades[0].static: leaves -1 tokens of tools and system prompt of organisation acme",
		acme("mcp: 1\n    mcp_tools: 20001"):                                              "f.yaml:6: orgs[0].mcp_tools: 20001 tokens of tools are more than the 20000 of all tools and system prompt",
		"schema: 1\nupgrades: [{at: 2026-03-03T00:00:01Z}]\norgs: []":                     "f.yaml:2: upgrades[0].at: 24h0m1s must lie in 0s…24h0m0s",
		"schema: 1\nupgrades: [{at: 3h, over: 2h}, {at: 4h}]\norgs: []":                   "f.yaml:2: upgrades[1].at: begins before the upgrade ahead of it has reached everyone",
		"schema: 1\norgs:\n  - {name: a, users: 1}\n  - {name: a, users: 1}":              `f.yaml:4: orgs[1].name: "a" is the name of orgs[0] as well`,
		"schema: 1\norgs:\n  - {name: fleet, users: 1}":                                   `f.yaml:3: orgs[0].name: fleet is what reports call all organisations together`,
		"schema: 1\norgs:\n  - {name: a, users: 1}\n  -":                                  "f.yaml:4: orgs[1] holds nothing",
		"schema: 1\norgs:\n  - {users: 1}":                                                "f.yaml:3: orgs[0].name: an organisation has a name",
		"schema: 1\norgs:\n  - {name: a}":                                                 "f.yaml:3: orgs[0].users 0 must lie in 1…1000000",
		acme("mcp: 1.5"):                                                                  "f.yaml:5: orgs[0].mcp 1.5 must lie in 0…1",
		acme("mcp: .nan"):                                                                 "f.yaml:5: orgs[0].mcp .nan must lie in 0…1",
		acme("resume: -0.1"):                                                              "f.yaml:5: orgs[0].resume -0.1 must lie in 0…1",
		acme("overage: {share: 2}"):                                                       "f.yaml:5: orgs[0].overage.share 2 must lie in 0…1",
		acme("overage: {share: 1, lasts: 0s}"):                                            "f.yaml:5: orgs[0].overage.lasts: an overage that lasts no time is none",
		acme("kinds: {subscriber: 0.5}"):                                                  "f.yaml:5: orgs[0].kinds: the shares add up to 0.5, not 1",
		acme("kinds: {subscribers: 1}"):                                                   `f.yaml:5: orgs[0].kinds.subscribers: unknown value "subscribers" (did you mean "subscriber"?)`,
		acme("sessions: {per_user_day: -3}"):                                              "f.yaml:5: orgs[0].sessions.per_user_day -3 must lie in 0…1000",
		acme("sessions: {per_user_day: .inf}"):                                            "f.yaml:5: orgs[0].sessions.per_user_day .inf must lie in 0…1000",
		acme("sessions: {profiles: {}}"):                                                  "f.yaml:5: orgs[0].sessions.profiles: no profile has a weight",
		acme("sessions: {profiles: {chat: 0}}"):                                           "f.yaml:5: orgs[0].sessions.profiles: no profile has a weight",
		acme("sessions: {profiles: {chat: -1, short-fix: 2}}"):                            "f.yaml:5: orgs[0].sessions.profiles.chat -1 must not be negative",
		acme("sessions: {profiles: {chatt: 1}}"):                                          `f.yaml:5: orgs[0].sessions.profiles.chatt: no profile "chatt" (did you mean "chat"?)`,
		acme("sessions: {turns: {median: 1e9}}"):                                          "f.yaml:5: orgs[0].sessions.turns: 1e+09 is out of range",
		acme("sessions: {version: abc}"):                                                  `f.yaml:5: orgs[0].sessions.version: "abc": want three numbers such as 2.1.62`,
		acme("arrivals: {process: posson}"):                                               `f.yaml:5: orgs[0].arrivals.process: unknown value "posson" (did you mean "poisson"?)`,
		acme("arrivals: {peak_hour: 25}"):                                                 "f.yaml:5: orgs[0].arrivals.peak_hour 25 must lie in 0…24",
		acme("arrivals: {weekend: -1}"):                                                   "f.yaml:5: orgs[0].arrivals.weekend -1 must lie in 0…1000",
		acme("arrivals: {offset: 40h}"):                                                   "f.yaml:5: orgs[0].arrivals.offset 40h must lie in -24h…24h",
		acme("arrivals: {process: trace}"):                                                "f.yaml:5: orgs[0].arrivals: a trace wants times",
		acme("arrivals: {times: [1h]}"):                                                   "f.yaml:5: orgs[0].arrivals.process: diurnal has no times of its own",
		acme("arrivals: {process: trace, times: [1h 2]}"):                                 `f.yaml:5: orgs[0].arrivals.times[0]: user "2": want 0 to 1`,
		acme("arrivals: {process: trace, times: [-1h]}"):                                  "f.yaml:5: orgs[0].arrivals.times[0]: -1h lies outside the fleet's 1 day",
		acme("arrivals: {process: trace, times: [2400000h]}"):                             "f.yaml:5: orgs[0].arrivals.times[0]: 2400000h lies outside the fleet's 1 day",
		acme("arrivals: {process: trace, times: [noon]}"):                                 `f.yaml:5: orgs[0].arrivals.times[0]: "noon" is no time`,
		acme("arrivals: {process: trace, file: none.txt}"):                                "f.yaml:5: orgs[0].arrivals.file: open none.txt: file does not exist",
		acme("arrivals: {process: trace, file: bad.txt}"):                                 `f.yaml:5: orgs[0].arrivals.file: bad.txt:3: user "nobody": want 0 to 1`,
		acme("arrivals: {process: trace, file: empty.txt}"):                               "f.yaml:5: orgs[0].arrivals.file: empty.txt holds no times",
		acme("arrivals: {process: trace, file: endless}"):                                 "f.yaml:5: orgs[0].arrivals.file: endless: a line of more than 65536 bytes is no time",
		acme("arrivals: {process: trace, file: comments}"):                                "f.yaml:5: orgs[0].arrivals.file: comments: more than 100000000 bytes",
		"schema: 1\norgs:\n  - {name: a, users: 9}\n  - {name: b, users: 1000000, sessions: {profiles: {overnight: 1}, per_user_day: 1}}": "f.yaml:4: orgs[1]: users, rates, days and profiles come to about",
		"schema: 1\ndays: 300\norgs:\n  - {name: a, users: 1000000}":                                                                      "f.yaml:4: orgs: users, rates and days make 6.96e+08 sessions, more than 2000000",
		"schema: 1\ndays: 300\norgs:\n  - {name: a, users: many}":                                                                         `f.yaml:4: orgs[0].users: want a whole number, not "many"`,
	} {
		_, err := readText([]byte(text), "f.yaml", Inputs{Registry: registry, Files: files})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant %s", text, err, want)
		}
	}
}

// unending are files, and two that never end: one of zeros and one of comments.
type unending fstest.MapFS

func (u unending) Open(name string) (fs.File, error) {
	switch name {
	case "endless":
		return &repeated{text: "\x00"}, nil
	case "comments":
		return &repeated{text: "# none yet\n"}, nil
	}
	return fstest.MapFS(u).Open(name)
}

// repeated is a file of a text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

func (r *repeated) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
func (r *repeated) Close() error               { return nil }

// What cannot be read hides nothing else, and nothing is said of the defaults in its
// place: users that are no number are not "0 must lie in", nor are shares with one that
// is none "come to".
func TestParseGoesOn(t *testing.T) {
	_, err := readText([]byte(`schema: 1
dayz: 3
seed: -4
orgs:
  - name: a
    users: 0
    mcp: -1
    sessions: {per_user_day: -3}
  - name: b
    users: many
    resume: 2
    kinds:
      api: half
      bedrock: 0.5
  - name: c
    user: 3
    sessions: {profiles: {chat: 1, short-fix: 1}, turns: {median: -1}, rounds: {min: 9, max: 3}, version: abc}
`), "f.yaml", Inputs{})
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(strings.TrimPrefix(err.Error(), "reading a fleet: "), "\n")
	want := []string{
		`f.yaml:2: unknown key "dayz"`, "f.yaml:3: seed: ", "f.yaml:10: orgs[1].users: want a whole number", "f.yaml:13: orgs[1].kinds.api: ", `f.yaml:16: unknown key "user"`, "f.yaml:15: orgs[2].users 0 must lie in",
		"f.yaml:6: orgs[0].users 0 must lie in", "f.yaml:7: orgs[0].mcp -1", "f.yaml:8: orgs[0].sessions.per_user_day -3",
		"f.yaml:11: orgs[1].resume 2", `f.yaml:17: orgs[2].sessions.version: "abc": want three numbers such as 2.1.62`, "f.yaml:17: orgs[2].sessions.turns", "f.yaml:17: orgs[2].sessions.rounds",
	}
	for _, w := range want {
		if n := len(slices.DeleteFunc(slices.Clone(got), func(line string) bool { return !strings.HasPrefix(line, w) })); n != 1 {
			t.Errorf("%s is told %d times, want once", w, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
}

// What is wrong with the system prompt is told once.
func TestParseTellsOnce(t *testing.T) {
	_, err := readText([]byte("schema: 1\nclient: {global_scope: false, system: {split: none, custom_prompt: true, uncached_change: 2}}\norgs: [{name: a, users: 1}]\n"), "f.yaml", Inputs{})
	if err == nil || strings.Count(err.Error(), "custom_prompt") != 1 || strings.Count(err.Error(), "uncached_change") != 1 {
		t.Errorf("%v", err)
	}
}

// A date at which an upgrade begins is a time from the start, whatever that is.
func TestUpgradeAtADate(t *testing.T) {
	f := parse(t, "schema: 1\nstart: 2026-03-01T12:00:00Z\ndays: 3\nupgrades: [{at: 2026-03-02}, {at: 2026-03-02T13:30:00+01:00}, {at: 48h}]\norgs: [{name: a, users: 1}]\n")
	for i, want := range []int64{12 * hour, 24*hour + hour/2, 48 * hour} {
		if got := int64(f.Upgrades[i].At); got != want {
			t.Errorf("upgrade %d: %d ns from the start, want %d", i, got, want)
		}
	}
}

// All problems are told at once.
func TestParseTellsEverything(t *testing.T) {
	_, err := readText([]byte("schema: 3\ndays: -1\norgs:\n  - name: a\n    users: -5\n    mcp: 7\n    kinds: {api: 2}\n    arrivals: {process: x}\n"), "f.yaml", Inputs{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"f.yaml:1:", "f.yaml:2:", "f.yaml:5:", "f.yaml:6:", "f.yaml:7: orgs[0].kinds.api ", "f.yaml:8:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing of %s in:\n%v", want, err)
		}
	}
}

// A strategy that means nothing at the window of a file is refused where the file is
// read, or where it is run when it was read without strategies. 33,000 tokens are
// kept free by the client, which a window of 100 does not have.
func TestWindowTooSmall(t *testing.T) {
	const text = "schema: 1\nname: narrow\nwindow: 100\nstrategies: [none, auto-compact/167k]\norgs: [{name: one, users: 1}]\n"
	r := runner(t)
	_, err := readText([]byte(text), "narrow.yaml", Inputs{Registry: r.Registry})
	if err == nil || !strings.Contains(err.Error(), "narrow.yaml:4: strategies[1]: strategy auto-compact/167k: ") ||
		!strings.Contains(err.Error(), "always reached (window 100, as the key window says") {
		t.Errorf("read with strategies: %v", err)
	}
	if _, err := r.Run(t.Context(), parse(t, text)); err == nil || !strings.Contains(err.Error(), "always reached (window 100, as the key window says") {
		t.Errorf("read without: %v", err)
	}
}

// Models without a price are named once each, and priced ones not.
func TestUnpricedModels(t *testing.T) {
	out := simulate(t, parse(t, `schema: 1
name: unpriced
strategies: [none]
orgs:
  - {name: one, users: 2, sessions: {model: nobodys-2}}
  - {name: two, users: 2, sessions: {model: nobodys-1}}
  - {name: three, users: 2, sessions: {model: claude-opus-4-5}}
`))
	if want := []string{"nobodys-1", "nobodys-2"}; !slices.Equal(out.Unpriced, want) || out.Cells[0].Total.Row.N(results.UnpricedCalls) == 0 {
		t.Errorf("unpriced %q with %d calls, want %q", out.Unpriced, out.Cells[0].Total.Row.N(results.UnpricedCalls), want)
	}
}

// The manual reads as the defaults.
func TestReferenceIsTheDefault(t *testing.T) {
	f, err := Load("reference", Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	want := defaultFile()
	want.Schema, want.Name, want.Doc = f.Schema, f.Name, f.Doc
	var o Org
	o.SetDefaults()
	o.Name, o.Users = f.Orgs[0].Name, f.Orgs[0].Users
	want.Orgs = []Org{o}
	for kind, share := range f.Orgs[0].Kinds {
		if share != o.Kinds[kind] {
			t.Errorf("kind %s has a share of %g, the default is %g", kind, share, o.Kinds[kind])
		}
	}
	f.Orgs[0].Kinds = o.Kinds
	if a, b := written(t, f), written(t, &want); a != b {
		t.Errorf("the manual says\n%s\nand without a word it is\n%s", a, b)
	}
}

func written(t *testing.T, f *File) string {
	t.Helper()
	text, err := yaml.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every fleet that comes with the program reads, says what it is for, and is
// called what its file is.
func TestBuiltin(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"global-scope", "office", "ten-thousand", "upgrade-wave"}; !slices.Equal(Names(), want) {
		t.Errorf("fleets %q, want %q", Names(), want)
	}
	for _, name := range Names() {
		f, err := Load(name, Inputs{Registry: registry})
		if err != nil {
			t.Error(err)
			continue
		}
		if f.Name != name || f.Doc == "" {
			t.Errorf("fleet %s is called %q: %q", name, f.Name, f.Doc)
		}
	}
	if _, err := Load("ofice", Inputs{}); err == nil || !strings.Contains(err.Error(), `did you mean "office"?`) {
		t.Errorf("error %v", err)
	}
}

// A fleet in a file, with the times of a trace in another.
func TestLoadFile(t *testing.T) {
	files := fstest.MapFS{
		"my/fleet.yaml": {Data: []byte("schema: 1\norgs:\n  - name: acme\n    users: 3\n    arrivals: {process: trace, file: my/times.txt}\n")},
		"my/times.txt":  {Data: []byte("1h 2 # the first\n\n90m\n")},
	}
	f, err := Load("my/fleet.yaml", Inputs{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	want := []arrival{{3600e9, 2}, {5400e9, -1}}
	if !reflect.DeepEqual(f.times[0], want) {
		t.Errorf("times %v, want %v", f.times[0], want)
	}
	if _, err := Load("my/other.yaml", Inputs{Files: files}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// Whatever the text, no panic; and what is read can be drawn.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		if text, err := Text(name); err == nil {
			f.Add(string(text))
		}
	}
	f.Add("schema: 1\norgs: [{name: a, users: 1, arrivals: {process: trace, times: [1h 0]}}]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := readText([]byte(text), "f.yaml", Inputs{})
		if err != nil {
			return
		}
		total := 0.0
		for i := range file.Orgs {
			total += file.expected(&file.Orgs[i])
		}
		if !(total >= 0 && total <= maxSessions) {
			t.Errorf("%v sessions are expected of %q", total, text)
		}
		file.batches()
	})
}
