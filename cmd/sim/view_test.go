package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// served returns the address of a page over the samples, its token ahead.
func served(t *testing.T) (server *httptest.Server, token string) {
	t.Helper()
	var f viewFlags
	cmd := &cobra.Command{}
	f.read.bind(cmd)
	f.prices.bind(cmd)
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	v, err := f.viewer(cmd, nil)
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
		{"GET", server.URL + "/etc/passwd?t=" + token, nil, 404},
	} {
		if code, text := request(t, tc.method, tc.url, "", tc.header...); code != tc.code {
			t.Errorf("%s %s %v: %d %.80s, want %d", tc.method, tc.url, tc.header, code, text, tc.code)
		}
	}
}

// A setting on the page gives the figures of sim run with that setting; one that is not known says so.
func TestViewEqualsRun(t *testing.T) {
	t.Parallel()
	server, token := served(t)
	post := func(body string) (int, string) {
		return request(t, "POST", server.URL+"/simulate", body, "X-Sim-Token", token)
	}
	const set = "full-compact.trigger.fixed=60000"
	_, shown := post(`{"strategy":"own","set":["` + set + `"],"pinned":{"strategy":"none","set":[]}}`)
	_, out, _ := exec(t, "run", "-q", "--strategy", "own,none", "--set", set)
	cells := regexp.MustCompile(`(?m)^(own|none)\S*.*?(\$[\d.]+)`).FindAllStringSubmatch(out, -1)
	if len(cells) != 2 {
		t.Fatalf("sim run shows %q", out)
	}
	for _, c := range cells {
		name := map[string]string{"own": "own", "none": "pinned none"}[c[1]]
		row := regexp.MustCompile(`<tr><td>` + name + `.*?</tr>`).FindString(shown)
		if !strings.Contains(row, c[2]) {
			t.Errorf("the page has %q, sim run says %s costs %s", row, c[1], c[2])
		}
	}
	if code, text := post(`{"strategy":"own","set":["server.lokback=1"]}`); code != 400 || !strings.Contains(text, `did you mean "server.lookback"?`) {
		t.Errorf("an unknown setting: %d %s", code, text)
	}
	if code, text := post(`{"strategy":"own","session":"nowhere"}`); code != 400 || !strings.Contains(text, "no sessions") {
		t.Errorf("a session that is not there: %d %s", code, text)
	}
}
