package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// served returns the address of a page over the sessions under paths, the samples without any, and its token.
func served(t *testing.T, paths ...string) (server *httptest.Server, token string) {
	t.Helper()
	var f viewFlags
	cmd := &cobra.Command{}
	f.read.bind(cmd)
	f.prices.bind(cmd)
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	v, err := f.viewer(cmd, paths)
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(v)
	t.Cleanup(server.Close)
	v.host, v.token = strings.TrimPrefix(server.URL, "http://"), "secret"
	return server, v.token
}

// request sends a request and returns the answer.
func request(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, b.String()
}

// The page answers who has its token, and no page of another origin or name.
func TestViewRefusesStrangers(t *testing.T) {
	t.Parallel()
	server, token := served(t)
	page := server.URL + "/?t=" + token
	for _, tc := range []struct {
		method, url string
		header      []string
		code        int
	}{
		{"GET", page, nil, 200},
		{"GET", server.URL + "/", nil, 403},
		{"GET", server.URL + "/?t=other", nil, 403},
		{"GET", page, []string{"Origin", "http://example.com"}, 403},
		{"GET", page, []string{"Host", "example.com"}, 403}, // a name that was pointed at this machine
		{"POST", server.URL + "/simulate", nil, 403},
		{"POST", server.URL + "/simulate", []string{"X-Sim-Token", token}, 400}, // nothing asked for
		{"POST", server.URL + "/explain", nil, 403},
		{"POST", server.URL + "/simulate", []string{"X-Sim-Token", token, "Origin", "null"}, 403}, // a sandboxed frame
		{"GET", server.URL + "/etc/passwd?t=" + token, nil, 404},
	} {
		if code, text := request(t, tc.method, tc.url, "", tc.header...); code != tc.code {
			t.Errorf("%s %s %v: %d %.80s, want %d", tc.method, tc.url, tc.header, code, text, tc.code)
		}
	}
}

// The command on the page gives the figures of the page; a setting that is not known says so.
func TestViewEqualsRun(t *testing.T) {
	t.Parallel()
	server, token := served(t)
	post := func(path, body string) (int, string) {
		return request(t, "POST", server.URL+path, body, "X-Sim-Token", token)
	}
	costs := func(out, row string) []string {
		return regexp.MustCompile(row + `\b.*?(\$[\d.]+)`).FindStringSubmatch(out)
	}
	for _, tc := range []struct{ ask, row, command string }{
		{`{"strategy":"own","dials":["full-compact.trigger.fixed=60000"]}`, "own, changed", "--set full-compact.trigger.fixed=60000"},
		{`{"strategy":"none","dials":["client.ttl.choice=5m"]}`, "none", "--set client.ttl.choice=5m"},
		{`{"strategy":"auto-compact/155k","agent":"claude-code"}`, "auto-compact/155k", "--agent claude-code"},
	} {
		_, shown := post("/simulate", tc.ask)
		command := regexp.MustCompile(`<pre>sim (.*)</pre>`).FindStringSubmatch(shown)
		if command == nil || !strings.Contains(command[1], tc.command) {
			t.Errorf("%s: the page has the command %q, want %s in it", tc.ask, command, tc.command)
			continue
		}
		_, out, _ := exec(t, append(strings.Fields(command[1]), "-q")...)
		row := regexp.MustCompile(`<tr><td class="n">` + tc.row + `.*?</tr>`).FindString(shown)
		if want := costs(out, "(?m)^"+tc.row); want == nil || !strings.Contains(row, want[1]) {
			t.Errorf("%s: the page has %q, sim %s says %q", tc.ask, row, command[1], want)
		}
	}
	_, shown := post("/simulate", `{"strategy":"none","dials":["full-compact.trigger.fixed=60000","client.window=100000"]}`)
	if want := "--strategy recorded,none --set client.window=100000<"; !strings.Contains(shown, want) {
		t.Errorf("of two dials strategy none has the window; the page lacks %s", want)
	}
	if code, text := post("/simulate", `{"strategy":"none","dials":["client.window=many"]}`); code != 400 || !strings.Contains(text, "client.window") {
		t.Errorf("a value that is none: %d %s", code, text)
	}
	if code, text := post("/simulate", `{"strategy":"own","sessions":["nowhere"]}`); code != 400 || !strings.Contains(text, "no sessions") {
		t.Errorf("a session that is not there: %d %s", code, text)
	}
}

// A call on the page has what sim explain says: what was billed, what was left in the cache, and why it missed.
func TestViewExplains(t *testing.T) {
	t.Parallel()
	server, token := served(t)
	const id = "38c556fc-24e7-4918-be91-000000000000" // the sample with the most calls
	_, list, _ := exec(t, "explain", "-q", id)
	missed := regexp.MustCompile(`(?m)^ *(\d+) .*miss: expiry`).FindStringSubmatch(list)
	if missed == nil {
		t.Fatalf("no call of the sample misses: %s", list)
	}
	_, out, _ := exec(t, "explain", "-q", id, missed[1])
	want := regexp.MustCompile(`read [\d,]+ of [\d,]+ left in the cache: missed [\d,]+, expiry`).FindString(out)
	code, shown := request(t, "POST", server.URL+"/explain",
		`{"strategy":"own","sessions":["`+id+`"],"cell":"recorded","call":`+missed[1]+`}`, "X-Sim-Token", token)
	if code != 200 || want == "" || !strings.Contains(shown, want) {
		t.Errorf("call %s: %d %s, want %q", missed[1], code, shown, want)
	}
	code, shown = request(t, "POST", server.URL+"/explain", `{"strategy":"own","cell":"own","call":1}`, "X-Sim-Token", token)
	if code != 400 || !strings.Contains(shown, "a call is of one session, and 5 are asked for") {
		t.Errorf("a call of no session: %d %s", code, shown)
	}
}

// A setting that a client has is told as its client takes it.
func TestViewNamesClientSetting(t *testing.T) {
	t.Parallel()
	server, token := served(t)
	_, shown := request(t, "POST", server.URL+"/simulate",
		`{"strategy":"own","dials":["client.env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50"]}`, "X-Sim-Token", token)
	if want := `<pre>~/.claude/settings.json: {&#34;env&#34;: {&#34;CLAUDE_AUTOCOMPACT_PCT_OVERRIDE&#34;: &#34;50&#34;}}</pre>`; !strings.Contains(shown, want) {
		t.Errorf("the page lacks %s", want)
	}
}

// A port in use is an error that names it.
func TestViewPortInUse(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := l.Addr().String()
	code, _, stderr := exec(t, "view", "-q", "--no-open", "--listen", at)
	if code != 1 || !strings.Contains(stderr, "listening at "+at) {
		t.Errorf("exit code %d, %q; want 1 and the address %s", code, stderr, at)
	}
}

// Every key of the manual is followed where it has a slider, and else refused: nothing that the page shows is
// without effect.
func TestViewFollowsEveryKey(t *testing.T) {
	t.Parallel()
	server, token := served(t)
	post := func(set ...string) (int, string) {
		ask, err := json.Marshal(map[string]any{"strategy": "none", "dials": set})
		if err != nil {
			t.Fatal(err)
		}
		return request(t, "POST", server.URL+"/simulate", string(ask), "X-Sim-Token", token)
	}
	manual, err := scenarios.Reference()
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(manual, &root); err != nil {
		t.Fatal(err)
	}
	followed, known := 0, append(dials(), settings("claude-code")...)
	for path, value := range leaves(root.Content[0], "") {
		refused := slices.IndexFunc(known, func(d dial) bool { return d.Path == path }) < 0
		switch code, text := post(path + "=" + value); {
		case refused && (code != http.StatusBadRequest || !strings.Contains(text, "the page cannot change "+path)):
			t.Errorf("%s=%s: %d %s", path, value, code, text)
		case !refused && code != http.StatusOK:
			t.Errorf("%s=%s: %d %s", path, value, code, text)
		case !refused:
			followed++
		}
	}
	if followed < 3 {
		t.Errorf("%d keys have a slider", followed)
	}
	if code, text := post(slices.Repeat([]string{"client.window=100000"}, 101)...); code != http.StatusBadRequest || !strings.Contains(text, "101 settings") {
		t.Errorf("101 settings: %d %s", code, text)
	}
}

// leaves returns the paths of a manual with their defaults.
func leaves(n *yaml.Node, at string) map[string]string {
	found := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := strings.TrimPrefix(at+"."+n.Content[i].Value, "."), n.Content[i+1]
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			maps.Copy(found, leaves(value, key))
			continue
		}
		value.HeadComment, value.LineComment, value.FootComment, value.Style = "", "", "", yaml.FlowStyle
		text, err := yaml.Marshal(value)
		if err == nil {
			found[key] = strings.TrimSpace(string(text))
		}
	}
	return found
}

// A page names folders by their last part, also folders of Windows.
func TestLabelsOfFolders(t *testing.T) {
	for folder, want := range map[string]string{"/home/u/app": "app", `C:\Users\u\app`: "app", "": ""} {
		s := &traces.Session{ID: "s", Agent: facts.ClaudeCode, Project: folder}
		got := labelsOf([]*traces.Session{s})["s"]
		if label, _, _ := strings.Cut(got, " · Claude Code"); want != "" && label != want || want == "" && !strings.HasPrefix(got, "Claude Code") {
			t.Errorf("%q: %q", folder, got)
		}
	}
}
