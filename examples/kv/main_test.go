package main

import (
	"strings"
	"testing"

	"heddle/channel"
)

func TestKV(t *testing.T) {
	for _, kind := range []string{"ring-bell", "ring-imm", "send"} {
		t.Run(kind, func(t *testing.T) {
			var out strings.Builder
			if err := run(t.Context(), kind, 500, &out); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.String(), kind+": 1000 operations, ") || !strings.Contains(out.String(), "; 0 requests for room") {
				t.Error(out.String())
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	s := store{}
	for _, test := range []struct{ request, reply, err string }{
		{"put a=b=c", "", ""},
		{"get a", "b=c", ""},
		{"get b", "", "there is no b"},
		{"put a", "", `what is "put a"?`},
		{"", "", `what is ""?`},
	} {
		got, err := s.answer(t.Context(), []byte(test.request), nil)
		if string(got) != test.reply || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%q: %q, %v", test.request, got, err)
		}
	}
	if _, err := channel.Find("no-such"); err == nil {
		t.Error("a kind that there is not")
	}
}
