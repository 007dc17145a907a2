package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// recordedCode makes this program the command of TestRecord, which ends with so many requests and that exit code.
const recordedCode = "SIM_TEST_RECORDED_CODE"

func TestRecordedCommand(t *testing.T) {
	code := os.Getenv(recordedCode)
	if code == "" {
		t.Skip("it is the command of TestRecord")
	}
	for _, path := range strings.Fields(os.Getenv("SIM_TEST_PATHS")) {
		base := os.Getenv("ANTHROPIC_BASE_URL")
		if strings.HasPrefix(path, "/responses") {
			base = os.Getenv("OPENAI_BASE_URL")
		}
		resp, err := http.Post(base+path, "application/json", strings.NewReader(`{"model":"gpt-5.5","input":"hello","max_output_tokens":5}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	n, _ := strconv.Atoi(code)
	os.Exit(n)
}

// A command under sim record finds the forwarder at the addresses of both interfaces; its exit code is the program's, and
// its calls are in a file that nobody else can read and that sim reads.
func TestRecord(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, `{"id":"r`+strings.Trim(req.URL.Path, "/")+`","object":"response","model":"gpt-5.5","output":[{"type":"message","role":"assistant",`+
			`"content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":11,"output_tokens":2,"input_tokens_details":{"cached_tokens":0}}}`)
	}))
	defer server.Close()
	for _, tc := range []struct {
		paths, code string
		want, files int
		says        string
	}{
		{"/responses /v1/messages", "0", 0, 1, "recorded 2 calls in"},
		{"/responses", "7", 7, 1, "recorded 1 call in"},
		{"/v1/models", "0", 0, 0, "no call of a model came"},
	} {
		out := filepath.Join(t.TempDir(), "logs")
		t.Setenv(recordedCode, tc.code)
		t.Setenv("SIM_TEST_PATHS", tc.paths)
		code, _, stderr := exec(t, "record", "--out", out, "--upstream", server.URL, "--", os.Args[0], "-test.run=^TestRecordedCommand$")
		if code != tc.want || !strings.Contains(stderr, tc.says) {
			t.Errorf("%s: exit %d, %q", tc.paths, code, stderr)
		}
		files, _ := filepath.Glob(filepath.Join(out, "*.jsonl"))
		if len(files) != tc.files {
			t.Errorf("%s: files %q", tc.paths, files)
			continue
		}
		for _, name := range files {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
			if code, stdout, stderr := exec(t, "traces", "ls", "--no-store", name); code != 0 || !strings.Contains(stdout, "gpt-5.5") {
				t.Errorf("traces ls: exit %d, %s%s", code, stdout, stderr)
			}
		}
	}
	if code, _, _ := exec(t, "record", "-o", t.TempDir(), "--", "sh", "-c", "kill -9 $$"); code != 128+9 {
		t.Errorf("a command that is killed ends with %d", code)
	}
	for args, says := range map[string]string{
		"--listen 0.0.0.0:0":                "other machines could reach that",
		"--upstream api.anthropic.com -- x": "is no address such as",
		"-- no-such-command-anywhere":       "no-such-command-anywhere",
	} {
		t.Chdir(t.TempDir())
		code, _, stderr := exec(t, append([]string{"record"}, strings.Fields(args)...)...)
		if left, _ := filepath.Glob("requests/*"); code != exitUsage || !strings.Contains(stderr, says) || len(left) > 0 {
			t.Errorf("%s: exit %d, %q, leaves %q", args, code, stderr, left)
		}
	}
}
