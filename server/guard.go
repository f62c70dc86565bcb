package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"

	"highwater/web"
)

// tokenHeader carries the token of a change.
const tokenHeader = "X-Highwater-Token"

// tokenCookie lets a page on an address that is not loopback keep its token.
const tokenCookie = "highwater_token"

var loopbackNames = []string{"127.0.0.1", "localhost", "::1"}

// checkHost turns away requests under any name but our own, before anything looks at them: a page
// elsewhere whose name was made to point here (DNS rebinding) gets nothing.
func (s *Server) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.ownHost(r.Host) {
			http.Error(w, "highwater: this server is not "+clip(r.Host)+
				"; use 127.0.0.1 or localhost, or start it with --allow-host", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) ownHost(hostPort string) bool {
	_, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		port = ""
	}
	host := hostOf(hostPort)
	if strings.Trim(port, "0123456789") != "" {
		return false
	}
	return slices.Contains(loopbackNames, host) || slices.Contains(s.config.Hosts, host)
}

func clip(text string) string {
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}

// policy allows what comes from here and nothing else: no inline script, no foreign frame.
const policy = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; img-src 'self' data:"

func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// checkReader asks for the token where even looking needs it.
func (s *Server) checkReader(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.roleOf(r) == nobody {
			writeError(w, http.StatusUnauthorized, &CommandError{Position: -1,
				Message: "the token is missing, or not the one that was printed at the start"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin says whether an Origin header, where there is one, is exactly ours.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" {
		return origin == "http://"+r.Host || r.TLS != nil && origin == "https://"+r.Host
	}
	// Browsers send Origin with every websocket and every change, so a browser without one is odd.
	// Sec-Fetch-Mode says nothing: there are programs that send it.
	return r.Header.Get("Sec-Fetch-Site") == ""
}

// checkMutation lets a change through only from our own page or a program, with the token in a
// header, which no form and no foreign page can set.
func (s *Server) checkMutation(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case cross.Check(r) != nil || !sameOrigin(r):
			writeError(w, http.StatusForbidden, &CommandError{Position: -1,
				Message: "changes are taken only from this server's own page"})
		case !isJSON(r):
			writeError(w, http.StatusUnsupportedMediaType, &CommandError{Position: -1,
				Message: "a command is JSON", Hint: "Content-Type: application/json"})
		case s.roleOf(r) == viewer:
			writeError(w, http.StatusForbidden, &CommandError{Position: -1,
				Message: "a viewer can only look", Hint: "the presenter's page can act"})
		case !s.mayChange(r):
			writeError(w, http.StatusUnauthorized, &CommandError{Position: -1,
				Message: "a change needs the token", Hint: tokenHeader})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// mayChange asks browsers for the token. A program on this machine, which no page can pretend to
// be, needs none on a loopback server: curl works as the README shows.
func (s *Server) mayChange(r *http.Request) bool {
	if given := r.Header.Get(tokenHeader); given != "" {
		return s.roleOfToken(given) == presenter
	}
	return !s.asksToken(r) && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == ""
}

func isJSON(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(strings.ToLower(kind)) == "application/json"
}

func (s *Server) problem(w http.ResponseWriter, p web.Problem) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.Status)
	if err := web.Error(p).Render(context.Background(), w); err != nil {
		s.config.Log.Debug("error page not sent", "error", err)
	}
}
