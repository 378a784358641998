package console

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want []string
		err  string
	}{
		{"", nil, ""},
		{" \t\r\n", nil, ""},
		{"a b\tc\n", []string{"a", "b", "c"}, ""},
		{`"a b" 'c d'e f" g"`, []string{"a b", "c de", "f g"}, ""},
		{`'' ""`, []string{"", ""}, ""},
		{`a\ b \" \\`, []string{"a b", `"`, `\`}, ""},
		{`"a\"b\\" 'a\b'`, []string{`a"b\`, `a\b`}, ""},
		{`Switch1"[4]"`, []string{"Switch1[4]"}, ""},
		{"a#b \xff\x00", []string{"a#b", "\xff\x00"}, ""},
		{`a "b`, nil, `begins with "`},
		{`a 'b`, nil, "begins with '"},
		{`a \`, nil, "ends with a backslash"},
		{`"a\`, nil, "ends with a backslash"},
	}
	for _, test := range tests {
		got, err := Split(test.line)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.line, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: error %v, want %q", test.line, err, test.err)
		}
	}
}

func TestQuotedWordsAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-c'"\\ \t#$\[\]]{0,8}|.{0,4}`), 1, 5).Draw(t, "words")
		line, err := quoteWords(words)
		if err != nil {
			t.Skip("holds the end of a line")
		}
		got, err := Split(line)
		if diff := cmp.Diff(words, got); err != nil || diff != "" {
			t.Fatalf("%q: %v (-want +got):\n%s", line, err, diff)
		}
	})
}

func TestQuoteWordsRefuses(t *testing.T) {
	for _, words := range [][]string{{"a\nb"}, {"\r"}, {strings.Repeat("a", maxLine)}} {
		if line, err := quoteWords(words); err == nil {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// TestAnswersComeAsTheyAre: an answer of whole lines, or an error, is read as it
// was sent.
func TestAnswersComeAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := strings.Join(rapid.SliceOf(rapid.StringMatching(`[ a-c:\t]{0,5}|ok|error: a`)).Draw(t, "lines"), "\n")
		if answer != "" {
			answer += "\n"
		}
		var err error
		if rapid.Bool().Draw(t, "refused") {
			answer, err = "", errors.New(rapid.StringMatching(`[ a-c:]{1,9}`).Draw(t, "error"))
		}
		got, gotErr := readReply(bufio.NewReader(strings.NewReader(wire(answer, err))))
		if got != answer || (gotErr == nil) != (err == nil) || err != nil && gotErr.Error() != err.Error() {
			t.Fatalf("%q, %v came as %q, %v", answer, err, got, gotErr)
		}
	})
}

func TestFind(t *testing.T) {
	commands := []string{"link", "link cut", "help"}
	for _, test := range []struct {
		line string
		want int
		args []string
	}{
		{"link a", 0, []string{"a"}}, {"link cut a", 1, []string{"a"}}, {"help", 2, []string{}}, {"cut", -1, nil},
	} {
		i, args, err := Find(commands, strings.Fields(test.line))
		if diff := cmp.Diff(test.args, args); i != test.want || diff != "" || (err == nil) != (i >= 0) {
			t.Errorf("%q is %d, %v (-want +got):\n%s", test.line, i, err, diff)
		}
	}
}
