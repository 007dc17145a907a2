package main

import (
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/compactsim/compactsim/internal/kit/files"
)

// Recordings and output in buckets, and what is wrong with a bucket.
func TestBuckets(t *testing.T) {
	buckets := s3mem.New()
	server := httptest.NewServer(gofakes3.New(buckets).Server())
	defer server.Close()
	for key, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_REGION": "us-east-1",
	} {
		t.Setenv(key, value)
	}
	if err := buckets.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	dir := samples(t)
	found, _, err := find(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		name := "s3://b/in/" + strings.ReplaceAll(strings.TrimPrefix(f.Name, dir), string(filepath.Separator), "-")
		if err := put(t.Context(), name, func(w io.Writer) error { return copyOf(w, f.Name) }); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--scenario", "thresholds", "s3://b/in/*"}
	if err := launchInto(t, "s3://b/run", args...); err != nil {
		t.Fatal(err)
	}
	rows, err := open(t.Context(), "s3://b/run/rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	text, err := io.ReadAll(rows)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != alone(t, "--scenario", "thresholds", dir) {
		t.Error("the rows are not those of the recordings")
	}
	for what, args := range map[string][]string{
		"not empty":       {"s3://b/run", "s3://b/in/*"},
		"no file matches": {"s3://b/other", "s3://b/none/*"},
		"s3://c/in/*: NoSuchBucket: The specified buc": {"s3://b/other", "s3://c/in/*"},
		"s3://c/run: NoSuchBucket: The specified buck": {"s3://c/run", "s3://b/in/*"},
	} {
		if err := launchInto(t, args[0], args[1]); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: %v, want %q", args, err, what)
		}
	}
}

func copyOf(w io.Writer, name string) error {
	r, err := files.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}
