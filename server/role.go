package server

import (
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"

	"highwater/web"
)

// role is what whoever asks may do.
type role int

const (
	nobody role = iota
	viewer
	presenter
)

// roleOf tells from the token who asks: in a header, in the address, or left with the browser.
// Without any, whoever is on this machine presents; a token that is given but wrong is nobody's.
// A browser's own token gives way, because a browser takes it to every server of its host.
func (s *Server) roleOf(r *http.Request) role {
	given := r.Header.Get(tokenHeader)
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && given == "" {
		given = bearer
	}
	if given == "" {
		given = r.URL.Query().Get("token")
	}
	if given != "" {
		return s.roleOfToken(given)
	}
	if kept := s.keptRole(r); kept != nobody {
		return kept
	}
	if s.asksToken(r) {
		return nobody
	}
	return presenter
}

// keptRole is whose token was left with the browser.
func (s *Server) keptRole(r *http.Request) role {
	cookie, err := r.Cookie(tokenCookie)
	if err != nil {
		return nobody
	}
	return s.roleOfToken(cookie.Value)
}

func (s *Server) roleOfToken(given string) role {
	switch {
	case sameToken(given, s.config.Token):
		return presenter
	case sameToken(given, s.config.ViewerToken):
		return viewer
	}
	return nobody
}

// sameToken never holds for a token that was not set.
func sameToken(given, token string) bool {
	return token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}

// asksToken says whether even looking needs a token: on any address but loopback, and under any
// name but a loopback one, since what is reached under another name is reached from elsewhere.
func (s *Server) asksToken(r *http.Request) bool {
	return s.config.AskToken || !slices.Contains(loopbackNames, hostOf(r.Host))
}

// dress gives a page the tokens of whoever asked for it.
func (s *Server) dress(r *http.Request, p web.Page) web.Page {
	p.ViewerToken = s.config.ViewerToken
	if s.roleOf(r) != presenter {
		p.Token = ""
	}
	return p
}

func hostOf(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	return strings.ToLower(host) // names of hosts are compared without case
}
