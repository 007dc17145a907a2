package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// upstream names the full tables; empty for one that is not given.
type upstream struct {
	litellm, genai, overlay string
}

// trim renews the trimmed sources in dir from the full tables.
func trim(full upstream, dir string) error {
	var c catalog
	if err := readJSON(filepath.Join(dir, catalogFile), &c, true); err != nil {
		return err
	}
	for _, f := range []struct {
		from, to string
		trim     func(path string, c *catalog) ([]byte, error)
	}{{full.litellm, litellmFile, trimLiteLLM}, {full.genai, genaiFile, trimGenai}, {full.overlay, overlayFile, trimOverlay}} {
		if f.from == "" {
			continue
		}
		text, err := f.trim(f.from, &c)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.to), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// trimOverlay keeps all of it.
func trimOverlay(path string, _ *catalog) ([]byte, error) {
	text, err := os.ReadFile(path)
	return append(bytes.TrimSpace(text), '\n'), err
}

// trimLiteLLM keeps the models the catalogue names, one a line.
func trimLiteLLM(path string, c *catalog) ([]byte, error) {
	var rows map[string]map[string]json.RawMessage
	if err := readJSON(path, &rows, false); err != nil {
		return nil, err
	}
	lines := map[string]string{}
	for _, m := range c.Models {
		if m.LiteLLM == "" {
			continue
		}
		row, ok := rows[m.LiteLLM]
		if !ok {
			return nil, fmt.Errorf("%s has no model %s", path, m.LiteLLM)
		}
		var members []string
		for _, key := range litellmKeys {
			if row[key] == nil {
				continue
			}
			var v *float64 // null is none
			if err := json.Unmarshal(row[key], &v); err != nil {
				return nil, fmt.Errorf("%s: model %s: %s: %w", path, m.LiteLLM, key, err)
			}
			if v != nil && *v != 0 {
				members = append(members, fmt.Sprintf("%q:%s", key, encoded(*v)))
			}
		}
		lines[m.LiteLLM] = fmt.Sprintf("%q: {%s}", m.LiteLLM, strings.Join(members, ","))
	}
	return []byte("{\n" + strings.Join(inOrder(lines), ",\n") + "\n}\n"), nil
}

// inOrder returns the values of a map in the order of its keys.
func inOrder(lines map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		list = append(list, lines[name])
	}
	return list
}

// encoded returns a value as JSON; those of the trimmed tables have no value that
// JSON lacks.
func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}

// trimGenai keeps the models the catalogue names, one a line.
func trimGenai(path string, c *catalog) ([]byte, error) {
	var all []genaiProvider
	if err := readJSON(path, &all, false); err != nil {
		return nil, err
	}
	src := sources{genai: all}
	var lists []string
	for _, provider := range slices.Sorted(maps.Keys(c.Providers)) {
		var models []string
		for _, m := range c.Models {
			if m.Provider != provider || m.Genai == "" {
				continue
			}
			g := src.genaiModel(provider, m.Genai)
			if g == nil {
				return nil, fmt.Errorf("%s has no model %s of %s", path, m.Genai, provider)
			}
			models = append(models, "\n "+encoded(g))
		}
		lists = append(lists, fmt.Sprintf("\n{\"id\": %q, \"models\": [%s]}", provider, strings.Join(models, ",")))
	}
	return []byte("[" + strings.Join(lists, ",") + "\n]\n"), nil
}
